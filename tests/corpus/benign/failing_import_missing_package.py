import json
print("json is fine", json.dumps([1]))
import a_package_that_is_not_there
print("never")
