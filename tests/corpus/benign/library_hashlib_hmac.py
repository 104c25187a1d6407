import base64
import binascii
import hashlib
import hmac

message = "Pay 100 CHF to Ada".encode()
key = b"not a real key"
print(hashlib.sha256(message).hexdigest()[:16], hashlib.md5(message).hexdigest()[:8], hashlib.sha1(b"").hexdigest()[:8])
digest = hashlib.blake2b(message, digest_size=8)
digest.update(b"!")
print(digest.hexdigest(), digest.digest_size, digest.name)
signature = hmac.new(key, message, hashlib.sha256).hexdigest()
print(signature[:12], hmac.compare_digest(signature, hmac.new(key, message, "sha256").hexdigest()))
print(hmac.compare_digest(signature, hmac.new(key, message + b"0", "sha256").hexdigest()))
encoded = base64.b64encode(message)
print(encoded.decode(), base64.b64decode(encoded) == message, base64.urlsafe_b64encode(b"\xff\xfe").decode())
print(base64.b32encode(b"hi").decode(), base64.b16encode(b"hi").decode(), binascii.hexlify(b"hi"), binascii.crc32(message))
try:
    base64.b64decode("abc")
except binascii.Error as e:
    print("binascii.Error:", e)
chunks = hashlib.new("sha256")
for part in (b"Pay 100", b" CHF", b" to Ada"):
    chunks.update(part)
print(chunks.digest() == hashlib.sha256(message).digest(), "sha256" in hashlib.algorithms_available)
