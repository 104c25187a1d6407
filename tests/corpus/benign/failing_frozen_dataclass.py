from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    model: str
    temperature: float = 0.0


s = Settings("small")
print(s)
s.temperature = 0.7
