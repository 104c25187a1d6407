def safe_div(a, b):
    try:
        result = a / b
    except ZeroDivisionError:
        return None
    except TypeError as e:
        return f"type error: {e}"
    else:
        return round(result, 3)
    finally:
        log.append((a, b))

log = []
print(safe_div(10, 3), safe_div(1, 0), safe_div("x", 2), log)
