import pandas as pd

old = pd.DataFrame({"id": [1, 2, 3], "v": [10, 20, 30]}).set_index("id")
new = pd.DataFrame({"id": [1, 2, 4], "v": [10, 25, 40]}).set_index("id")
both = old.join(new, how="outer", lsuffix="_old", rsuffix="_new")
both["state"] = "same"
both.loc[both["v_old"].isna(), "state"] = "added"
both.loc[both["v_new"].isna(), "state"] = "removed"
both.loc[both["v_old"].notna() & both["v_new"].notna() & (both["v_old"] != both["v_new"]), "state"] = "changed"
print(both)
print(old.loc[[1, 2]].compare(new.loc[[1, 2]]), old.equals(old.copy()), old.align(new, join="inner")[0].index.tolist())
