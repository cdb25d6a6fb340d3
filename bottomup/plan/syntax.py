"""What of a file of code could change a result: its syntax tree, without text that is only shown.

Text is only shown if what it is given to shows it: a logger, an exception that ends the program,
the help of an argument, the description of a key. What a name is bound to decides, not how it is
spelled. So a name counts as what it was imported or assigned as if the whole file binds it once; a
name with two bindings is unknown. Whatever is unknown counts.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

LOGGER = "logging.getLogger()"
LEVELS = ("debug", "info", "warning", "error", "exception", "critical")
LOGGING = {f"{logs}.{level}" for logs in (LOGGER, "logging") for level in LEVELS}
PARSER = re.compile(
    r"(bottomup\.plan\.program\.parser|argparse\.ArgumentParser)\(\)(\.add_\w+\(\))*"
)
KEY = "bottomup.core.settings.key"  # its positional arguments are only shown
# Keywords of calls whose values are only shown, or only limit a value, as for a key of the config.
DESCRIBING = {
    "pydantic.Field": {"description"},
    KEY: {"unit", "gt", "ge", "lt", "le", "min_length", "max_length", "pattern"},
}
OF_ARGUMENTS = {"help", "metavar"}
# What only a plan reads, to decide what a job gets; its effect on the job is compared directly.
PLANNED = "bottomup.tables.Table"
# Exceptions that end a program, so that their text is only shown, unless a program that catches
# them does something else with it.
ERROR = "bottomup.core.errors.UserError"
MESSAGES = {
    ERROR,
    "argparse.ArgumentTypeError",
    "builtins.ValueError",
    "builtins.AssertionError",
}
# Types of exceptions that catch these or hold them.
ANY = {
    f"builtins.{name}"
    for name in ("Exception", "BaseException", "ExceptionGroup", "BaseExceptionGroup")
}
# Calls that change nothing and do not iterate over what they are given.
PURE = {
    f"builtins.{function.__name__}"
    for function in (len, str, repr, round, abs, int, float, bool, format, type, isinstance)
}
# Calls that may be given a caught exception, and only show or test it.
ENDING = {"sys.exit", "builtins.isinstance"}
BY_NAME = {"importlib.import_module", "builtins.__import__"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)
COMPUTING = (
    *(ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom),
    *(ast.ListComp, ast.SetComp, ast.DictComp),
)
# What hands on an exception that no handler names: modules, functions, attributes, keywords.
HANDING_ON = {
    *("traceback", "exc_info", "exception", "__cause__", "__context__", "excepthook"),
    *("return_exceptions", "error_callback", "push", "push_async_exit"),
}
EXITS = {"__exit__", "__aexit__"}  # methods that are given an exception
# Functions that take a name as text.
ASKING = {"builtins.getattr", "operator.attrgetter", "operator.methodcaller"}


class Texts(NamedTuple):
    """Whether text counts that is otherwise only shown: that of exceptions, and docstrings."""

    messages: bool
    docstrings: bool


class Code:
    """One file of code. package: the package that it is in, for its relative imports."""

    def __init__(self, source: bytes, package: str = ""):
        self.tree, self.package = ast.parse(source), package
        self._alike: dict[int, tuple] = {}  # nodes that are plain in one way, whichever texts count
        self.tree.body = [node for node in self.tree.body if not self._is_for_types(node)]

    def _is_for_types(self, node: ast.stmt) -> bool:
        """Whether a statement is there for type checkers, and never runs."""
        if not isinstance(node, ast.If) or node.orelse:
            return False
        return self.meaning(node.test) == "typing.TYPE_CHECKING"

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return [*ast.walk(self.tree)]

    @cached_property
    def imports(self) -> frozenset[str]:
        """Every name that the file may import, in full, also by `import_module("name")`."""
        names: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._base(node)
                # The name after `import` may be a module or an attribute of one.
                names.update({base}, (f"{base}.{alias.name}" for alias in node.names))
            elif isinstance(node, ast.Call) and self.called(node) in BY_NAME and node.args:
                name = getattr(node.args[0], "value", None)
                names.update([name] if isinstance(name, str) else [])
        return frozenset(names)

    @cached_property
    def catches(self) -> frozenset[str]:
        """Those of `MESSAGES` whose text the file uses for something else than to show it."""
        messages: set[str] = set()
        for node in self._nodes:
            if self._hands_on(node) or _reads_exception(node):
                return frozenset(MESSAGES)
            if isinstance(node, ast.ExceptHandler) and node.name and _used(self, node):
                messages |= self._caught(node.type)
        return frozenset(messages)

    def _hands_on(self, node: ast.AST) -> bool:
        """Whether a node has a name of `HANDING_ON`, or asks for one by text, and is no method or
        keyword of a logger."""
        names = {getattr(node, field, None) for field in ("attr", "arg", "name", "module")}
        if isinstance(node, ast.keyword):
            names -= {"exc_info"}
        if isinstance(node, ast.Call) and self.called(node) in ASKING:
            names |= {getattr(part, "value", None) for part in node.args}
        if isinstance(node, ast.Subscript):
            names.add(getattr(node.slice, "value", None))
        return not names.isdisjoint(HANDING_ON) and self.meaning(node) not in LOGGING

    def plain(self, texts: Texts):
        """The tree as nested tuples, without text that is only shown, positions and empty fields.

        `ast.dump` would do, but the empty fields that it prints depend on the version of Python.
        """
        return self._plain(self.tree, texts)

    def meaning(self, node: ast.AST | None) -> str | None:
        """What an expression is, in full, if its names are bound once: `logging.getLogger().info`.
        None if that is unknown."""
        if isinstance(node, ast.Name):
            return self._of_name(node.id)
        if isinstance(node, ast.Attribute):
            base = self.meaning(node.value)
            return base and f"{base}.{node.attr}"
        if isinstance(node, ast.Call):
            made_by = self.meaning(node.func)
            return made_by and f"{made_by}()"
        return None

    def called(self, node: ast.AST | None) -> str | None:
        """The `meaning` of what a call calls; None if that is unknown, or if it is no call."""
        return self.meaning(node.func) if isinstance(node, ast.Call) else None

    def logs(self, node: ast.AST) -> bool:
        """Whether a statement or call writes a line to a log."""
        return self.called(node.value if isinstance(node, ast.Expr) else node) in LOGGING

    def effects(self, shown: list[ast.AST]) -> tuple:
        """The side effects of text that is shown: calls and assignments in it, iteration over
        something that then may have nothing left, and look-ups that may add a key."""
        effects: list[object] = []
        for node in shown:
            if isinstance(node, ast.Lambda):  # it is not called here
                effects += self.effects([node.args])
                continue
            within = self.effects([*ast.iter_child_nodes(node)])
            # Where one part decides whether another acts, it counts, too.
            if self._acts(node) or (within and _decides(node)):
                effects.append(self._bare(node))
            else:
                effects += within
        return tuple(effects)

    def _acts(self, node: ast.AST) -> bool:
        """Whether an expression may change something: it calls, assigns, iterates over something
        (`*a`, `b in a`), or asks for a value, which may add a key."""
        if isinstance(node, COMPUTING):
            return self.called(node) not in PURE
        if isinstance(node, ast.Compare):
            return any(isinstance(operator, ast.In | ast.NotIn) for operator in node.ops)
        asks = isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice)
        return asks or isinstance(node, ast.Starred)

    @cached_property
    def _bindings(self) -> tuple[Counter, dict[str, str | ast.AST | None]]:
        """How often each name is bound, and what to: a full name, or the call that made it."""
        counts: Counter = Counter()
        bound: dict[str, str | ast.AST | None] = {}
        for node in ast.walk(self.tree):  # also what is there for types, which this tells
            counts.update(_bound_by(node))
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    bound[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    bound[alias.asname or alias.name] = f"{self._base(node)}.{alias.name}"
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                bound[node.targets[0].id] = node.value
        return counts, bound

    def _base(self, node: ast.ImportFrom) -> str:
        """The module that names are imported from."""
        parts = self.package.split(".") if self.package else []
        above = parts[: len(parts) - node.level + 1] if node.level else []
        return ".".join([*above, *([node.module] if node.module else [])])

    def _of_name(self, name: str) -> str | None:
        counts, bound = self._bindings
        if "*" in counts or counts[name] > 1:
            return None
        if not counts[name]:
            return f"builtins.{name}"
        value = bound.get(name)
        if isinstance(value, ast.Call):
            # Removed while its meaning is found, or `x = x()` would never end.
            del bound[name]
            value = bound[name] = self.meaning(value)
        return value if isinstance(value, str) else None

    def _caught(self, types: ast.AST | None) -> set[str]:
        """Those of `MESSAGES` that a handler of these types may catch: all, unless each is known to
        be one class."""
        nodes = types.elts if isinstance(types, ast.Tuple) else [types]
        names = {self.meaning(node) or "" for node in nodes}
        others = names - MESSAGES
        return MESSAGES if others & ANY or not all(map(_is_class, others)) else MESSAGES & names

    def is_read_beside(self, part: ast.AST, name: str) -> bool:
        """Whether a name is read in a function outside one part of it, other than to show it or to
        test it. True also if that is unknown, since the name is not the function's own."""
        functions = (n for n in self._nodes if isinstance(n, FUNCTIONS))
        around = [function for function in functions if part in ast.walk(function)]
        if not around:
            return True
        within = {id(node) for node in ast.walk(part)}
        nodes = [*ast.walk(around[-1])]  # the innermost one
        for node in nodes:
            if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
                return True
            if isinstance(node, ast.If):
                within.add(id(node.test))
            elif isinstance(node, ast.Raise) and _shows(self, node):
                within |= {id(each) for each in ast.walk(node)}
        uses = (n for n in nodes if isinstance(n, ast.Name) and n.id == name)
        return any(_is_read(node) and id(node) not in within for node in uses)

    @cached_property
    def reads_docstrings(self) -> bool:
        """Whether the file reads docstrings, its own or others', for more than the help of a
        program."""
        helps = {
            id(argument)
            for node in self._nodes
            if isinstance(node, ast.Call) and self.called(node) == "bottomup.plan.program.parser"
            for argument in node.args
        }
        return "inspect.getdoc" in self.imports or any(
            (isinstance(node, ast.Name) and node.id == "__doc__" and id(node) not in helps)
            or (isinstance(node, ast.Attribute) and node.attr in ("__doc__", "getdoc"))
            or (isinstance(node, ast.Constant) and node.value == "__doc__")
            for node in self._nodes
        )

    def _plain(self, node, texts: Texts):
        if isinstance(node, list):
            return tuple(filter(None, (self._statement(item, texts) for item in node)))
        if not isinstance(node, ast.AST):
            return node
        if id(node) in self._alike:
            return self._alike[id(node)]
        shown = self._shown(node, texts)
        fields = (field for field in self._fields(node, shown) if field[1] not in (None, []))
        plain = ((name, self._plain(value, texts)) for name, value in fields)
        content = (type(node).__name__, *(field for field in plain if field[1] != ()))
        content = (*content, *self.effects(shown))
        if id(node) not in self._varying:
            self._alike[id(node)] = content
        return content

    @cached_property
    def _varying(self) -> set[int]:
        """The nodes that hold text which counts or does not."""
        varying: set[int] = set()
        for node in reversed(self._nodes):  # what is in a node comes before it
            none, every = (self._shown(node, Texts(count, count)) for count in (False, True))
            within = any(id(child) in varying for child in ast.iter_child_nodes(node))
            if within or _is_text(node) or none != every:
                varying.add(id(node))
        return varying

    def _statement(self, node, texts: Texts):
        """An item of a list. A statement that only shows something becomes its side effects."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and self.logs(node):
            return self.effects([*node.value.args, *node.value.keywords])
        if self._planned(node):
            return self.effects([*node.value.args, *node.value.keywords])
        if isinstance(node, ast.Pass) or (_is_text(node) and not texts.docstrings):
            return ()
        plain = self._plain(node, texts)
        if isinstance(node, ast.If) and len(plain) == 2:  # its kind and its test: no branch acts
            return self.effects([node.test])
        # An item may be None, as in `{**a}`, or text, as in `global a`.
        return (plain,) if node is None else plain

    def _planned(self, node) -> bool:
        """Whether a statement only tells the plan about a table of measures."""
        if not isinstance(node, ast.Assign) or self.called(node.value) != PLANNED:
            return False
        names = {getattr(target, "id", None) for target in node.targets}
        loaded = (n.id for n in self._nodes if isinstance(n, ast.Name) and _is_read(n))
        return None not in names and names.isdisjoint(loaded)

    def _fields(self, node: ast.AST, without: list[ast.AST]) -> Iterator[tuple[str, object]]:
        left_out = {id(part) for part in without}
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.JoinedStr):
                # Python 3.12 and newer end some f-strings in an empty constant.
                value = [part for part in value if getattr(part, "value", None) != ""]
            if isinstance(value, list):
                value = [part for part in value if id(part) not in left_out]
            yield name, None if id(value) in left_out else value

    def _shown(self, node: ast.AST, texts: Texts) -> list[ast.AST]:
        """The parts of a node that are only shown."""
        if isinstance(node, DOCUMENTED):
            documented = ast.get_docstring(node, clean=False) is not None
            return [*node.body[:1]] if documented and not texts.docstrings else []
        if isinstance(node, ast.Assert) and node.msg and not texts.messages:
            return [node.msg]
        if not isinstance(node, ast.Call) or (name := self.called(node)) is None:
            return []
        if name in MESSAGES and not texts.messages and id(node) in self._raised:
            return [*node.args, *node.keywords]
        words = DESCRIBING.get(name, set())
        if PARSER.fullmatch(name.removesuffix(".add_argument")) and name.endswith(".add_argument"):
            words = OF_ARGUMENTS
        described: list[ast.AST] = [part for part in node.keywords if part.arg in words]
        return [*node.args, *described] if name == KEY else described

    @cached_property
    def _raised(self) -> set[int]:
        """The expressions that are raised, or that a function `-> UserError` returns, which is
        only called to raise it (a test looks)."""
        raised = {id(node.exc) for node in self._nodes if isinstance(node, ast.Raise)}
        for node in self._nodes:
            if isinstance(node, FUNCTIONS) and self.meaning(node.returns) == ERROR:
                raised |= {
                    id(part.value) for part in ast.walk(node) if isinstance(part, ast.Return)
                }
        return raised

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of the file's functions and methods."""
        return frozenset(node.name for node in self._nodes if isinstance(node, FUNCTIONS))

    def _bare(self, node):
        """The tree of an expression in text that is shown, without the words of the text."""
        if isinstance(node, list):
            return tuple(self._bare(item) for item in node)
        if not isinstance(node, ast.AST):
            return node
        if isinstance(node, ast.JoinedStr):
            values = (part.value for part in node.values if isinstance(part, ast.FormattedValue))
            return tuple(self._bare(value) for value in values)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Constant):
            return node.attr  # of the text itself, as in ", ".join
        fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
        return (type(node).__name__, *((name, self._bare(value)) for name, value in fields))


def _is_text(node) -> bool:
    """Whether a statement is a constant, such as a comment in quotes, and does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that a node binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            within = isinstance(node, ast.Import) and not alias.asname
            yield alias.name.partition(".")[0] if within else alias.asname or alias.name
    elif isinstance(node, ast.Name) and not _is_read(node):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    else:
        # Of functions, classes, handlers and patterns.
        name = getattr(node, "rest", getattr(node, "name", None))
        if isinstance(name, str) and not isinstance(node, ast.alias):
            yield name


def _used(code: Code, handler: ast.ExceptHandler) -> bool:
    """Whether a handler does something else with the exception than to show it or to raise it."""
    names = {handler.name}
    shown: set[int] = set()
    for node in ast.walk(handler):
        if isinstance(node, ast.Assign) and _names_in(node.value) & names:
            # Parts of the exception's text, which may be shown later.
            targets = [getattr(target, "id", None) for target in node.targets]
            if any(target is None or code.is_read_beside(handler, target) for target in targets):
                return True
            names |= {*targets}
            shown |= {id(part) for part in ast.walk(node.value)}
        if isinstance(node, ast.Raise) or code.logs(node) or code.called(node) in ENDING:
            shown |= {id(part) for part in ast.walk(node)} if _shows(code, node) else set()
    uses = (n for n in ast.walk(handler) if isinstance(n, ast.Name) and n.id in names)
    return any(_is_read(node) and id(node) not in shown for node in uses)


def _shows(code: Code, node: ast.AST) -> bool:
    """Whether what is raised only shows its text, too: an exception of `MESSAGES`, or one that a
    function of the project makes."""
    if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
        return True
    made_by = code.called(node.exc)
    if made_by is None:
        func = node.exc.func
        return getattr(func, "attr", getattr(func, "id", None)) in code.functions
    return made_by in MESSAGES or not made_by.rpartition(".")[2][0].isupper()


def _decides(node: ast.AST) -> bool:
    """Whether one part of an expression decides whether another is computed."""
    chained = isinstance(node, ast.Compare) and len(node.ops) > 1
    return chained or isinstance(node, ast.IfExp | ast.BoolOp)


def _is_class(name: str) -> bool:
    """Whether a type of exceptions is one class by its full name: of Python, or an error of this
    library. Others may be tuples, or other names of what they catch."""
    of_python = name.partition(".")[0] in sys.stdlib_module_names
    return "(" not in name and (of_python or bool(re.fullmatch(r"bottomup\..*Error", name)))


def _reads_exception(node: ast.AST) -> bool:
    """Whether a node is a method that leaves a context and reads what it is given."""
    if not isinstance(node, FUNCTIONS) or node.name not in EXITS:
        return False
    given = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)} - {"self"}
    return not given.isdisjoint(_names_in(node))


def _names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
