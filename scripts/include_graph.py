#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws who includes whom, between the parts and inside core and table, into docs/architecture.md.

A module is a header with the source of the same name. With --check nothing is written: the script fails when an include
goes against the arrows of the architecture, when modules of a part form a cycle, or when the drawing is not up to date.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"

# Who may include whom. A part may always include itself.
PARTS = {
    "base": [],
    "core": ["base"],
    "table": ["base", "core"],
    "train": ["base", "core"],
    "report": ["base", "core"],
    "cli": ["base", "core", "table", "train", "report"],
    "python": ["base", "core", "report"],
}
# The rooms of core, in the order in which data flows through them; "fit" is the whole way in one call, "fit_review" what a person looks at.
ROOMS = {
    "uncertainty": [],
    "count": [],
    "solve": ["count"],
    "choose": ["count", "solve"],
    "promise": ["count", "solve", "choose"],
    "fit": ["count", "solve", "choose", "promise", "judge"],
    "fit_review": ["count", "solve", "choose", "judge"],
    "judge": ["uncertainty", "count", "solve", "choose", "promise", "fit"],
    "theory": ["uncertainty"],
    "deploy": ["count", "solve"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def module_of(path):
    """(part, name): core/src/count/engine.cpp and core/include/limen/count/engine.h are ("core", "count/engine")."""
    part = path.relative_to(ROOT).parts[0]
    for folder in (f"{part}/include/limen/{part}", f"{part}/include/limen", f"{part}/src"):
        if path.is_relative_to(ROOT / folder):
            return part, str(path.relative_to(ROOT / folder).with_suffix(""))
    raise SystemExit(f"include_graph: {path}: neither in include nor in src")


def find_include(source, text):
    part = source.relative_to(ROOT).parts[0]
    candidates = [source.parent / text, ROOT / part / "src" / text]
    candidates += [ROOT / other / "include" / text for other in PARTS]
    return next((path.resolve() for path in candidates if path.exists()), None)


def read_graph():
    edges = {}
    for part in PARTS:
        for source in sorted((ROOT / part).rglob("*")):
            if source.suffix not in (".h", ".cpp") or not ({"src", "include"} & set(source.relative_to(ROOT).parts)):
                continue
            module = module_of(source)
            edges.setdefault(module, set())
            for text in INCLUDE.findall(source.read_text()):
                target = find_include(source, text)
                if target is None:
                    raise SystemExit(f"include_graph: {source.relative_to(ROOT)}: \"{text}\" is not found")
                if module_of(target) != module:
                    edges[module].add(module_of(target))
    return edges


def find_cycle(edges):
    """The modules of one cycle, in order, or nothing."""
    state = {}
    path = []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for target in sorted(edges.get(node, ())):
            if state.get(target) == "open":
                return path[path.index(target):] + [target]
            if target not in state and (cycle := visit(target)):
                return cycle
        path.pop()
        state[node] = "done"
        return None

    for node in sorted(edges):
        if node not in state and (cycle := visit(node)):
            return cycle
    return None


def room_of(name):
    return name.split("/")[0]


def problems_of(edges):
    problems = []
    for (part, name), targets in sorted(edges.items()):
        for other, target in sorted(targets):
            if other != part and other not in PARTS[part]:
                problems.append(f"{part}/{name} includes {other}/{target}: {part} may not know {other}")
            elif part == other == "core":
                here, there = room_of(name), room_of(target)
                if here not in ROOMS or there not in ROOMS:
                    problems.append(f"core/{name} includes core/{target}: one of them is in no room")
                elif here != there and there not in ROOMS[here]:
                    problems.append(f"core/{name} includes core/{target}: {here} may not know {there}")
    for part in PARTS:
        inside = {node: {target for target in targets if target[0] == part}
                  for node, targets in edges.items() if node[0] == part}
        if cycle := find_cycle(inside):
            problems.append(f"a cycle in {part}: " + " -> ".join(name for _, name in cycle))
    return problems


def mermaid(arrows):
    """arrows: from -> set of what it includes. Arrows that others imply are left out."""
    def reaches(start, goal, skip):
        seen, stack = set(), [node for node in arrows.get(start, ()) if (start, node) != skip]
        while stack:
            node = stack.pop()
            if node == goal:
                return True
            if node not in seen:
                seen.add(node)
                stack.extend(arrows.get(node, ()))
        return False

    def shown(name):
        return f'{re.sub(r"[^a-z0-9]", "_", name)}["{name}"]'

    lines = ["```mermaid", "graph LR"]
    for source in sorted(arrows):
        targets = [target for target in sorted(arrows[source]) if not reaches(source, target, (source, target))]
        lines += [f"  {shown(source)} --> {shown(target)}" for target in targets] or [f"  {shown(source)}"]
    return lines + ["```"]


def drawing(edges):
    parts, rooms, table = {}, {}, {}
    for (part, name), targets in edges.items():
        parts.setdefault(part, set()).update(other for other, _ in targets if other != part)
        if part == "core":
            rooms.setdefault(room_of(name), set()).update(
                room_of(target) for other, target in targets if other == part and room_of(target) != room_of(name))
        if part == "table":
            table.setdefault(name, set()).update(target for other, target in targets if other == part)
    lines = ["Between the parts:", "", *mermaid(parts), "", "Between the rooms of `core`:", "", *mermaid(rooms), "",
             "Between the modules of `table` (arrows that others imply are left out):", "", *mermaid(table)]
    return "\n".join(lines)


def main():
    edges = read_graph()
    problems = problems_of(edges)
    for problem in problems:
        print(f"include_graph: {problem}", file=sys.stderr)
    if problems:
        return 1
    text = PAGE.read_text()
    begin, end = "<!-- include graph: scripts/include_graph.py -->\n", "<!-- end of include graph -->"
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    drawn = before + begin + drawing(edges) + "\n" + end + after
    if "--check" in sys.argv[1:]:
        if drawn != text:
            print("include_graph: docs/architecture.md is not up to date: run scripts/include_graph.py", file=sys.stderr)
            return 1
    else:
        PAGE.write_text(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
