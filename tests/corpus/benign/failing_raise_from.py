import json


class ConfigError(Exception):
    pass


def load(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"bad config near position {error.pos}") from error


print(load('{"a": [1, 2]}'))
print(load('{"a": [1, 2}'))
