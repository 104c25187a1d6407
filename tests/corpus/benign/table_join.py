users = [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Ben"}, {"id": 3, "name": "Cy"}]
orders = [{"user": 1, "total": 20.0}, {"user": 1, "total": 5.5}, {"user": 3, "total": 7.25}, {"user": 9, "total": 1.0}]
by_id = {u["id"]: u for u in users}
joined = [{**by_id[o["user"]], "total": o["total"]} for o in orders if o["user"] in by_id]
orphans = [o for o in orders if o["user"] not in by_id]
print(joined)
print(orphans)
spend = {u["name"]: sum(o["total"] for o in orders if o["user"] == u["id"]) for u in users}
print(spend)
