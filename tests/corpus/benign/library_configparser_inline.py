import configparser

config = configparser.ConfigParser()
config.read_string("""
[DEFAULT]
timeout = 30

[server]
host = example.com
port = 8443
debug = yes

[paths]
root = /srv
logs = %(root)s/logs
""")
print(config.sections(), config["server"].getint("port"), config.getboolean("server", "debug"))
for section in config.sections():
    for key, value in config.items(section):
        print(f"{section}.{key} = {value}")
print(config.get("server", "missing", fallback="none"), "server" in config, config.has_option("paths", "x"))
try:
    config["nothing"]
except KeyError as e:
    print("KeyError", e)
