from typing import Any, Callable, Dict, List, Optional, Tuple, Union, Iterable, Literal, Annotated, Self

Handler = Callable[[Dict[str, Any]], Optional[str]]
Number = Union[int, float]


class Router:
    def __init__(self) -> None:
        self.routes: List[Tuple[str, Handler]] = []

    def route(self, prefix: str) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            self.routes.append((prefix, handler))
            return handler
        return register

    def dispatch(self, path: str, **params: Any) -> Optional[str]:
        for prefix, handler in sorted(self.routes, key=lambda r: -len(r[0])):
            if path.startswith(prefix):
                return handler({"path": path[len(prefix):], **params})
        return None

    def mounted(self, other: "Router") -> Self:
        self.routes += other.routes
        return self


router = Router()


@router.route("/users/")
def user(request: Dict[str, Any]) -> Optional[str]:
    return f"user {request['path']} ({request.get('mode', 'short')})"


@router.route("/")
def index(request):
    return f"index: {request['path'] or '-'}"


other = Router()
other.route("/users/me")(lambda request: "you")
router.mounted(other)
for path in ("/users/7", "/users/me", "/", "/about", "nowhere"):
    print(f"{path:<10}{router.dispatch(path, mode='long')}")


def scale(values: Iterable[Number], by: Annotated[float, "factor"] = 2, how: Literal["up", "down"] = "up") -> List[Number]:
    return [v * by if how == "up" else v / by for v in values]


print(scale([1, 2.5]), scale((4,), how="down"), user.__annotations__ is not None)
