import re
emails = re.findall(r"[\w.+-]+@[\w-]+\.[\w.-]+", context)
print(len(emails), "emails")
domains = {}
for email in emails:
    user, _, domain = email.partition("@")
    domains.setdefault(domain, set()).add(user)
for domain in sorted(domains):
    print(domain, sorted(domains[domain]))
