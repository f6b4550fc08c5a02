// A flame graph: draws what can be seen of a tree of call sites on a canvas.
//
// The tree comes as columns (see cmd/flame/page.c): nodes in the order of a walk from callers to callees,
// siblings by name, each with its depth, its name and its own values.  All else is made from them here.
// Only frames at least half a pixel wide are drawn, so that a million call sites cost what is visible.
"use strict";

const ROW = 18; // height of a frame, CSS pixels
const FEW = 0.5; // narrower frames are drawn together, as one grey strip
const $ = (id) => document.getElementById(id);

// ---- The data ----

async function unpack(text, Column) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    return Column ? new Column(buffer) : new TextDecoder().decode(buffer);
}

async function load() {
    const json = JSON.parse($("data").textContent);
    const tree = { ...json, count: json.nodes };
    tree.depth = await unpack(json.depth, Uint16Array);
    tree.name = await unpack(json.name, Uint32Array);
    tree.strings = (await unpack(json.strings)).split("\n");
    tree.functions = await unpack(json.functions, Uint32Array); // of a name: its function's text
    tree.modules = await unpack(json.modules, Uint32Array); // and its module's
    tree.places = await unpack(json.places, Uint32Array); // "file:line"
    tree.shorts = await unpack(json.shorts, Uint32Array); // the function for frames that are too narrow
    tree.self = [];
    for (const column of json.self) tree.self.push(await unpack(column, Float64Array));
    tree.up = tree.count;
    link(tree);
    return tree;
}

// Parents, and where subtrees end: node i's are [i + 1, end[i]).  From node up on they are callers of
// the root, which are drawn on its other side.
function link(tree) {
    const { count, depth, up } = tree;
    const parent = new Int32Array(count).fill(-1);
    const end = new Uint32Array(count);
    const last = [];
    let deepest = 0;
    let upRows = 0;
    for (let i = 0; i < count; i++) {
        last[depth[i]] = i;
        if (depth[i]) parent[i] = last[depth[i] - 1];
        if (i < up) deepest = Math.max(deepest, depth[i]);
        else upRows = Math.max(upRows, depth[i]);
        end[i] = i + 1;
    }
    for (let i = count - 1; i > 0; i--) if (end[i] > end[parent[i]]) end[parent[i]] = end[i];
    Object.assign(tree, { parent, end, upRows, rows: upRows + deepest + 1 });
}

// Callers and callees of one function, those of all its frames together: a tree whose root is the
// function.  Frames inside another one of it are among its callees.
function around(name) {
    const columns = whole.self.length;
    const node = () => ({ kids: new Map(), self: new Float64Array(columns) });
    const into = (from, name) => {
        if (!from.kids.has(name)) from.kids.set(name, node());
        return from.kids.get(name);
    };
    const root = node();
    const callers = node();
    for (let i = 1; i < whole.count; i++) {
        if (whole.name[i] !== name) continue;
        const sum = new Float64Array(columns);
        const place = [];
        for (let j = i; j < whole.end[i]; j++) {
            const at = j === i ? root : into(place[whole.depth[j] - 1], whole.name[j]);
            place[whole.depth[j]] = at;
            for (let c = 0; c < columns; c++) {
                at.self[c] += whole.self[c][j];
                sum[c] += whole.self[c][j];
            }
        }
        let caller = callers;
        for (let j = whole.parent[i]; j > 0; j = whole.parent[j]) caller = into(caller, whole.name[j]);
        for (let c = 0; c < columns; c++) caller.self[c] += sum[c];
        i = whole.end[i] - 1;
    }
    return flatten(name, root, callers, columns);
}

function flatten(name, root, callers, columns) {
    const depth = [];
    const names = [];
    const self = Array.from({ length: columns }, () => []);
    const push = (name, node, level) => {
        depth.push(level);
        names.push(name);
        for (let c = 0; c < columns; c++) self[c].push(node.self[c]);
    };
    // Without recursion: stacks may be deeper than the browser's.
    const add = (from) => {
        const sorted = (node) => Array.from(node.kids).sort((a, b) => (textOf(a[0]) < textOf(b[0]) ? 1 : -1));
        const stack = sorted(from).map(([name, node]) => [name, node, 1]);
        while (stack.length) {
            const [name, node, level] = stack.pop();
            push(name, node, level);
            for (const [below, kid] of sorted(node)) stack.push([below, kid, level + 1]);
        }
    };
    push(name, root, 0);
    add(root);
    const up = depth.length;
    add(callers);
    const made = { ...whole, of: name, up, count: depth.length, depth, name: names, self: self.map((column) => Float64Array.from(column)) };
    link(made);
    return made;
}

// Inclusive values of a column of own values.
function totals(tree, self) {
    const total = Float64Array.from(self);
    for (let i = tree.count - 1; i > 0; i--) if (i < tree.up || tree.parent[i]) total[tree.parent[i]] += total[i];
    return total;
}

// Where frames begin when their widths are these totals.
function starts(tree, total) {
    const start = new Float64Array(tree.count);
    const next = new Float64Array(tree.count); // where the next child begins
    for (let i = 1; i < tree.count; i++) {
        const parent = tree.parent[i];
        if (i === tree.up) next[0] = 0;
        start[i] = next[i] = next[parent];
        next[parent] += total[i];
    }
    return start;
}

// Own and inclusive value of each name in nodes [from, to); a function that calls itself counts once.
function perName(self, total, from, to) {
    const names = tree.functions.length;
    const own = new Float64Array(names);
    const all = new Float64Array(names);
    const until = new Uint32Array(names); // within the subtree of a node of that name up to here
    for (let i = from; i < to; i++) {
        const name = tree.name[i];
        own[name] += self[i];
        if (i < until[name]) continue;
        all[name] += total[i];
        until[name] = i ? tree.end[i] : to;
    }
    return { own, all };
}

// ---- Numbers and names ----

const scales = {
    nanoseconds: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
    bytes: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
};
function amount(value, unit) {
    for (const [size, name] of scales[unit] || [])
        if (Math.abs(value) >= size || size === 1) {
            const scaled = value / size;
            return `${scaled.toLocaleString("en", { maximumFractionDigits: size === 1 ? 0 : 2 })} ${name}`;
        }
    return `${Math.round(value).toLocaleString("en")} ${unit === "count" ? "" : unit}`.trim();
}
const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(2)} %` : "–");
const textOf = (name) => whole.strings[whole.functions[name]];
const functionOf = (i) => textOf(tree.name[i]);
const titleOf = (i) => (i || tree.of ? functionOf(i) : "all");
const placeOf = (i) => tree.strings[tree.places[tree.name[i]]];
const moduleOf = (i) => tree.strings[tree.modules[tree.name[i]]];

// ---- State ----

let whole; // all call sites
let tree; // what is drawn: these, or what is around one function
let type = 0; // index of the chosen sample type
let value; // what is shown of it: {self, total, base, start, unit}
let zoomed = 0;
let focus = 0; // the frame that the keyboard is at
let hover = -1;
let view = { from: 0, to: 1 }; // the part of the root's width that is seen, in values
let animation = 0;
let matches = null; // Uint8Array by name
let drawn = []; // by row: [left, right, node, ...] of what can be pointed at
let textColour = "#000";
const measured = new Map();

// With a base each type has two columns: before, after.
function choose() {
    const columns = tree.diff ? 2 : 1;
    const self = tree.self[type * columns + columns - 1];
    const sum = (column) => whole.self[column].reduce((a, b) => a + b, 0);
    value = { self, total: totals(tree, self), unit: tree.types[type].unit, all: sum(type * columns + columns - 1) };
    let width = value.total;
    if (tree.diff) {
        const before = totals(tree, tree.self[type * 2]);
        value.base = before;
        value.baseSelf = tree.self[type * 2];
        value.baseAll = sum(type * 2);
        const kind = $("width").value;
        if (kind === "base") width = before;
        else if (kind === "both") width = value.total.map((x, i) => x + before[i]);
    }
    value.width = width;
    value.start = starts(tree, width);
    $("summary").textContent = tree.diff
        ? `${amount(value.baseAll, value.unit)} → ${amount(value.all, value.unit)}`
        : amount(value.all, value.unit);
    zoom(zoomed, false);
    search();
}

// ---- Colours ----

function hash(text) {
    let h = 2166136261;
    for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    return (h >>> 0) / 4294967296;
}

// Okabe and Ito's colours, without black: told apart with each kind of colour vision.
const safe = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"];
const safeText = ["#000", "#000", "#fff", "#000", "#fff", "#000", "#000"];
const cache = new Map();

function colour(node) {
    if (tree.diff) return difference(node);
    const key = tree.name[node];
    if (!cache.has(key)) cache.set(key, makeColour(functionOf(node), moduleOf(node)));
    return cache.get(key);
}

function makeColour(name, module) {
    const dark = document.documentElement.dataset.theme === "dark";
    const kind = $("palette").value;
    if (kind === "blind") {
        const i = Math.floor(hash(module || name) * safe.length);
        return [safe[i], safeText[i]];
    }
    const h = hash(name);
    if (kind === "module") return [`hsl(${Math.round(hash(module) * 360)} 55% ${dark ? 38 + 8 * h : 68 + 10 * h}%)`, dark ? "#fff" : "#000"];
    return [`hsl(${Math.round(8 + 42 * h)} ${dark ? 60 : 85}% ${dark ? 34 + 8 * hash(name + "l") : 62 + 12 * hash(name + "l")}%)`, dark ? "#fff" : "#000"];
}

// Orange: a larger share than before.  Blue: a smaller one.  Both are told apart with each kind of colour vision.
function difference(node) {
    const dark = document.documentElement.dataset.theme === "dark";
    const before = value.baseAll ? value.base[node] / value.baseAll : 0;
    let after = value.all ? value.total[node] / value.all : 0;
    if (after > before) after = Math.max(before, after / tree.scale);
    const change = (after - before) / Math.max(after, before, 1e-12);
    const strength = Math.min(1, Math.abs(change) * 2) * Math.min(1, Math.abs(after - before) * 50 + 0.15);
    const middle = dark ? 30 : 93;
    const light = middle + (dark ? 15 : -38) * strength;
    return [`hsl(${change > 0 ? 28 : 212} ${Math.round(90 * strength)}% ${light}%)`, dark ? "#fff" : "#000"];
}

// ---- Drawing ----

const context = $("canvas").getContext("2d", { alpha: false });
const icicle = () => $("direction").getAttribute("aria-pressed") === "false";
const chartHeight = () => Math.max(tree.rows * ROW + 4, $("scroll").clientHeight);
const rowOf = (node) => (node < tree.up ? tree.upRows + tree.depth[node] : tree.upRows - tree.depth[node]);
function rowTop(row) {
    return icicle() ? row * ROW : chartHeight() - (row + 1) * ROW;
}

function resize() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = $("scroll");
    const canvas = $("canvas");
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    $("space").style.height = `${Math.max(0, tree.rows * ROW + 4 - height)}px`;
    draw();
}

function draw() {
    const ratio = window.devicePixelRatio || 1;
    const styles = getComputedStyle(document.documentElement);
    const { clientWidth: width, clientHeight: height, scrollTop } = $("scroll");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = styles.getPropertyValue("--page");
    context.fillRect(0, 0, width, height);
    context.font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
    context.textBaseline = "middle";
    drawn = Array.from({ length: tree.rows }, () => []);
    const few = styles.getPropertyValue("--few");
    const scale = width / (view.to - view.from || 1);
    const stack = [0];
    while (stack.length) {
        const node = stack.pop();
        const left = Math.max(0, (value.start[node] - view.from) * scale);
        const right = Math.min(width, (value.start[node] + value.width[node] - view.from) * scale);
        const top = rowTop(rowOf(node)) - scrollTop;
        drawn[rowOf(node)].push(left, right, node);
        if (top > -ROW && top < height) drawFrame(node, left, right, top, styles);
        for (const [from, to] of node ? [[node + 1, tree.end[node]]] : [[1, tree.up], [tree.up, tree.count]])
            if (from < to) drawChildren(from, to, scale, width, scrollTop, height, few, stack);
    }
}

// Children that are wide enough go onto the stack, the others into strips of grey.
function drawChildren(from, to, scale, width, scrollTop, height, few, stack) {
    const top = rowTop(rowOf(from)) - scrollTop;
    let strip = -1;
    let stripEnd = -1;
    const flush = () => {
        if (strip >= 0 && top > -ROW && top < height) {
            context.fillStyle = few;
            context.fillRect(strip, top + ROW - 5, Math.max(stripEnd - strip, 0.5), 4);
        }
        strip = -1;
    };
    for (let child = from; child < to; child = tree.end[child]) {
        const left = (value.start[child] - view.from) * scale;
        const right = left + value.width[child] * scale;
        if (right <= 0 || value.width[child] <= 0) continue;
        if (left >= width) break;
        if (right - left >= FEW) {
            flush();
            stack.push(child);
        } else {
            if (strip >= 0 && left > stripEnd + 1) flush();
            if (strip < 0) strip = Math.max(0, left);
            stripEnd = right;
        }
    }
    flush();
}

function drawFrame(node, left, right, top, styles) {
    const [fill, ink] = colour(node);
    const wide = Math.max(right - left - (right - left > 3 ? 1 : 0), 0.5);
    const matched = matches && matches[tree.name[node]];
    context.globalAlpha = (matches && !matched) || tree.depth[node] < tree.depth[zoomed] ? 0.35 : 1;
    context.fillStyle = fill;
    context.fillRect(left, top, wide, ROW - 1);
    if (matched && wide > 2) {
        context.fillStyle = styles.getPropertyValue("--ink");
        context.fillRect(left, top + ROW - 3, wide, 2);
    }
    textColour = ink;
    if (wide > 20) drawText(node, left + 4, top + ROW / 2, wide - 8);
    context.globalAlpha = 1;
    if (node === hover || node === focus) {
        context.strokeStyle = styles.getPropertyValue(node === focus ? "--focus" : "--ink");
        context.lineWidth = node === focus ? 2 : 1;
        context.strokeRect(left + 1, top + 1, Math.max(wide - 2, 1), ROW - 3);
    }
}

// A function without its namespaces: a closure keeps its function, an operator its class.
function lastPart(name) {
    const parts = name.split("::");
    let last = parts.pop();
    while (parts.length && /^$|^[{(']|^operator\b/.test(last)) last = `${parts.pop()}::${last}`;
    return /[<>]/.test(last) ? name : last;
}

// The fullest form of a name that there is room for: whole, without arguments, its last part alone, and
// the beginning of that, unless so little of it is left that it says nothing.
function fit(node, room) {
    if (!node && !tree.of) return tree.title.length <= room ? tree.title : "all";
    const short = tree.strings[tree.shorts[tree.name[node]]];
    const last = lastPart(short);
    for (const name of [functionOf(node), short, last]) if (name.length <= room) return name;
    return room < 6 ? "" : `${last.slice(0, room - 1)}…`;
}

function drawText(node, x, y, width) {
    if (!measured.size) measured.set("m", context.measureText("m").width);
    const text = fit(node, Math.floor(width / measured.get("m")));
    if (!text) return;
    context.fillStyle = textColour;
    context.fillText(text, x, y);
}

// ---- Zoom ----

function path(node) {
    const nodes = [];
    for (let i = node; i >= 0; i = tree.parent[i]) nodes.unshift(i);
    return nodes;
}

function zoom(node, animate = true) {
    zoomed = focus = node;
    fillTable();
    const goal = { from: value.start[node], to: value.start[node] + (value.width[node] || 1) };
    showPath();
    describe(node);
    const still = !animate || matchMedia("(prefers-reduced-motion: reduce)").matches;
    cancelAnimationFrame(animation);
    if (still) {
        view = goal;
        draw();
        return;
    }
    const origin = view;
    const began = performance.now();
    const step = (now) => {
        const t = Math.min(1, Math.max(0, (now - began) / 160));
        const eased = 1 - (1 - t) ** 3;
        view = { from: origin.from + (goal.from - origin.from) * eased, to: origin.to + (goal.to - origin.to) * eased };
        draw();
        if (t < 1) animation = requestAnimationFrame(step);
    };
    animation = requestAnimationFrame(step);
}

// Show all call sites, zoomed into one.
function showWhole(node) {
    if (tree === whole) {
        zoom(node);
        return;
    }
    tree = whole;
    hover = -1;
    zoomed = node;
    choose();
    resize();
}

// Show the callers and callees of a function.
function showAround(name) {
    tree = around(name);
    hover = -1;
    zoomed = 0;
    choose();
    resize();
    $("scroll").scrollTop = rowTop(tree.upRows) - $("scroll").clientHeight / 2;
    draw();
}

// Do what the user asked for: the browser's way back undoes it, and the address says what is shown.
function go(show, what) {
    show(what);
    remember(true);
}

function pathButton(text, show, what) {
    const button = document.createElement("button");
    button.textContent = text;
    button.onclick = () => go(show, what);
    return button;
}

function showPath() {
    $("around").setAttribute("aria-pressed", Boolean(tree.of));
    if (tree.of) {
        $("path").replaceChildren(pathButton("all", showWhole, 0), ` › callers and callees of ${textOf(tree.of)}`);
        return;
    }
    const nodes = path(zoomed);
    const shown = nodes.length > 8 ? [nodes[0], -1, ...nodes.slice(-6)] : nodes;
    const parts = shown.map((node) => (node < 0 ? " … " : pathButton(titleOf(node), showWhole, node)));
    $("path").replaceChildren(...parts.flatMap((part, i) => (i ? [" › ", part] : [part])));
}

// ---- What a frame says ----

function facts(node) {
    const { total, self, unit } = value;
    const lines = [`total ${amount(total[node], unit)} (${percent(total[node], value.all)})`];
    if (node < tree.up) lines.push(`self ${amount(self[node], unit)} (${percent(self[node], value.all)})`);
    if (tree.of && node) lines.push(`${percent(total[node], total[0])} of ${functionOf(0)}`);
    if (zoomed && node > zoomed && node < tree.end[zoomed]) lines.push(`${percent(total[node], total[zoomed])} of ${functionOf(zoomed)}`);
    if (tree.diff) {
        lines.push(`before ${amount(value.base[node], unit)} (${percent(value.base[node], value.baseAll)})`, `${points(total[node], value.base[node])} points`);
    }
    if (placeOf(node)) lines.push(placeOf(node));
    if (moduleOf(node)) lines.push(moduleOf(node));
    return lines;
}

// By how much a share changed, in points: hundredths of the whole.
const changeOf = (after, before) => (value.all ? after / value.all : 0) - (value.baseAll ? before / value.baseAll : 0);
function points(after, before) {
    const change = 100 * changeOf(after, before);
    return `${change >= 0 ? "+" : "−"}${Math.abs(change).toFixed(2)}`;
}

function describe(node) {
    $("detail").textContent = `${titleOf(node)} — ${facts(node).join(" · ")}`;
    $("around").disabled = !tree.of && !focus;
}

function showTip(node, x, y) {
    const tip = $("tip");
    tip.hidden = node < 0;
    if (node < 0) return;
    const name = document.createElement("b");
    name.textContent = titleOf(node);
    tip.replaceChildren(name, ...facts(node).map((line) => Object.assign(document.createElement("div"), { textContent: line })));
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 18, innerHeight - tip.offsetHeight - 8))}px`;
}

// The frame at a point of the canvas, or -1.
function at(x, y) {
    const height = y + $("scroll").scrollTop;
    const row = Math.floor(icicle() ? height / ROW : (chartHeight() - height) / ROW);
    const boxes = drawn[row] || [];
    for (let i = 0; i < boxes.length; i += 3) if (x >= boxes[i] && x < boxes[i + 1]) return boxes[i + 2];
    return -1;
}

// ---- Search ----

function search() {
    const text = $("search").value;
    matches = null;
    $("search").setCustomValidity("");
    $("matched").textContent = "";
    if (text) {
        let pattern;
        try {
            pattern = new RegExp(text, /[A-Z]/.test(text) ? "" : "i");
        } catch {
            $("search").setCustomValidity("not a regular expression");
            $("matched").textContent = "not a regular expression";
            draw();
            return;
        }
        const found = tree.strings.map((name) => pattern.test(name));
        matches = Uint8Array.from(tree.functions, (text, name) => (name && found[text] ? 1 : 0));
        tellMatches();
    }
    draw();
}

// The share below frames that match; what lies below two of them counts once.
function tellMatches() {
    let sum = 0;
    let frames = 0;
    for (let i = tree.of ? 0 : 1; i < tree.up; )
        if (matches[tree.name[i]]) {
            sum += value.total[i];
            frames++;
            i = i ? tree.end[i] : tree.up;
        } else i++;
    $("matched").textContent = `${percent(sum, value.total[0])} matched, ${frames.toLocaleString("en")} ${frames === 1 ? "stack" : "stacks"}`;
}

// ---- The table of functions ----

// What there is in the frame that is zoomed into, or around a function.
function tableRows() {
    const from = tree.of ? 0 : zoomed || 1;
    const to = tree.of ? tree.up : tree.end[zoomed];
    const after = perName(value.self, value.total, from, to);
    const before = tree.diff ? perName(value.baseSelf, value.base, from, to) : null;
    const rows = [];
    for (let name = 1; name < after.all.length; name++) {
        const row = { name, own: after.own[name], all: after.all[name] };
        if (before) Object.assign(row, { before: before.all[name], ownBefore: before.own[name] });
        if (row.all > 0 || row.before > 0) rows.push(row);
    }
    return rows;
}

function tableColumns() {
    const both = (x, all) => [amount(x, value.unit), percent(x, all)];
    const zoomedTotal = value.total[zoomed];
    if (!tree.diff)
        return [
            { key: "own", title: "Self", by: (row) => row.own, cell: (row) => both(row.own, zoomedTotal) },
            { key: "all", title: "Total", by: (row) => row.all, cell: (row) => both(row.all, zoomedTotal) },
        ];
    return [
        { key: "before", title: "Before", by: (row) => row.before, cell: (row) => both(row.before, value.base[zoomed]) },
        { key: "all", title: "After", by: (row) => row.all, cell: (row) => both(row.all, zoomedTotal) },
        { key: "change", title: "Points", by: (row) => Math.abs(changeOf(row.all, row.before)), cell: (row) => ["", points(row.all, row.before)] },
        { key: "turned", title: "Of self", by: (row) => Math.abs(changeOf(row.own, row.ownBefore)), cell: (row) => ["", points(row.own, row.ownBefore)] },
    ];
}

let order = "own";

function headCell(column) {
    const cell = document.createElement("th");
    const button = document.createElement("button");
    button.textContent = column.title + (column.key === order ? " ▾" : "");
    button.onclick = () => { order = column.key; fillTable(); };
    cell.className = column.key;
    cell.append(button);
    return cell;
}

function addName(line, name) {
    const text = textOf(name);
    const find = document.createElement("button");
    const turn = document.createElement("button");
    find.textContent = tree.strings[tree.shorts[name]];
    find.title = [text, tree.strings[tree.places[name]], tree.strings[tree.modules[name]]].filter(Boolean).join("\n");
    find.onclick = () => {
        $("search").value = `^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
        search();
        remember();
    };
    turn.className = "turn";
    turn.textContent = "⇅";
    turn.title = `Callers and callees of ${text}`;
    turn.setAttribute("aria-label", turn.title);
    turn.onclick = () => go(showAround, name);
    line.insertCell().append(find);
    line.insertCell().append(turn);
}

function fillTable() {
    if ($("table").hidden) return;
    const columns = tableColumns();
    const { by } = columns.find(({ key }) => key === order) || columns[0];
    const rows = tableRows().sort((a, b) => by(b) - by(a) || b.all - a.all || a.name - b.name);
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const title = document.createElement("th");
    title.textContent = tree.of || zoomed ? `In ${titleOf(zoomed)}` : "Function";
    title.colSpan = 2;
    head.append(...columns.map(headCell), title);
    const body = table.createTBody();
    for (const row of rows.slice(0, 500)) {
        const line = body.insertRow();
        for (const column of columns) {
            const cell = line.insertCell();
            const [absolute, share] = column.cell(row);
            cell.className = column.key;
            if (absolute) cell.append(Object.assign(document.createElement("span"), { textContent: `${absolute} ` }));
            cell.append(share);
        }
        addName(line, row.name);
    }
    $("table").replaceChildren(table);
}

// ---- The page's address ----

// "#zoom=12&search=x": frames and functions by their numbers in this page.
function remember(step = false) {
    const state = new URLSearchParams();
    if (tree.of) state.set("around", tree.of);
    else if (zoomed) state.set("zoom", zoomed);
    if ($("search").value) state.set("search", $("search").value);
    if (type !== whole.chosen) state.set("type", whole.types[type].name);
    if (!$("table").hidden) state.set("table", 1);
    if (location.hash.slice(1) === state.toString()) return;
    try {
        history[step ? "pushState" : "replaceState"](null, "", `#${state}`);
    } catch {
        // Where a page has no address of its own, nothing is remembered.
    }
}

function recall() {
    const state = new URLSearchParams(location.hash.slice(1));
    const number = (key, limit) => {
        const found = Number(state.get(key) || 0);
        return Number.isInteger(found) && found > 0 && found < limit ? found : 0;
    };
    const named = whole.types.findIndex(({ name }) => name === state.get("type"));
    const name = number("around", whole.functions.length);
    type = $("type").selectedIndex = named < 0 ? whole.chosen : named;
    $("search").value = state.get("search") || "";
    $("table").hidden = !state.get("table");
    $("top").setAttribute("aria-pressed", !$("table").hidden);
    tree = whole;
    zoomed = number("zoom", whole.count);
    if (name) showAround(name);
    else {
        choose();
        resize();
    }
}

// ---- Keys and pointer ----

// Of the children of a frame, those on one side of the root: callees, or callers.
function childrenOf(node, callers) {
    const children = [];
    const from = node ? node + 1 : callers ? tree.up : 1;
    const to = node ? tree.end[node] : callers ? tree.count : tree.up;
    for (let child = from; child < to; child = tree.end[child]) if (value.width[child] > 0) children.push(child);
    return children;
}

// The frame in the next row, towards callees or callers: the one it belongs to, or the widest; -1: none.
function neighbour(node, callees) {
    if (node && callees === node >= tree.up) return tree.parent[node];
    return childrenOf(node, !callees).reduce((best, child) => (best < 0 || value.width[child] > value.width[best] ? child : best), -1);
}

// The visible sibling before (by -1) or after (by 1) a frame; itself when there is none.
function sibling(node, by) {
    if (!node) return node;
    const all = childrenOf(tree.parent[node], node >= tree.up);
    return all[all.indexOf(node) + by] ?? node;
}

function goTo(node) {
    if (node < 0) return;
    focus = node;
    const top = rowTop(rowOf(node));
    const pane = $("scroll");
    if (top < pane.scrollTop) pane.scrollTop = top;
    if (top + ROW > pane.scrollTop + pane.clientHeight) pane.scrollTop = top + ROW - pane.clientHeight;
    describe(node);
    draw();
}

function chartKey(event) {
    const keys = {
        ArrowLeft: () => goTo(sibling(focus, -1)),
        ArrowRight: () => goTo(sibling(focus, 1)),
        ArrowDown: () => goTo(neighbour(focus, icicle())),
        ArrowUp: () => goTo(neighbour(focus, !icicle())),
        Enter: () => choseFrame(focus),
        Backspace: () => go(showWhole, tree.of ? 0 : Math.max(0, tree.parent[zoomed])),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
}

function choseFrame(node) {
    if (!tree.of) go(zoom, node);
    else if (node) go(showAround, tree.name[node]);
}

function reset() {
    $("search").value = "";
    search();
    go(showWhole, 0);
}

function pageKey(event) {
    const typing = event.target.matches("input, select");
    if (event.key === "Escape") {
        reset();
        $("scroll").focus();
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = { i: "direction", s: "around", t: "top", d: "theme", "?": "help" };
    if (buttons[event.key]) $(buttons[event.key]).click();
    else if (event.key === "/") {
        event.preventDefault();
        $("search").focus();
    }
}

function wheel(event) {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    cancelAnimationFrame(animation);
    const wide = view.to - view.from;
    const part = event.offsetX / $("scroll").clientWidth;
    const whole = value.width[0] || 1;
    let size = wide;
    let from = view.from;
    if (event.ctrlKey) {
        size = Math.min(whole, Math.max(whole * 1e-9, wide * 1.002 ** event.deltaY));
        from = view.from + (wide - size) * part;
    } else from += (wide * (event.deltaY || event.deltaX)) / 1000;
    from = Math.min(Math.max(0, from), whole - size);
    view = { from, to: from + size };
    draw();
}

function setTheme(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    $("theme").textContent = dark ? "Light" : "Dark";
    cache.clear();
}

function listen() {
    const pane = $("scroll");
    pane.addEventListener("pointermove", (event) => {
        const box = pane.getBoundingClientRect();
        const node = at(event.clientX - box.left, event.clientY - box.top);
        if (node !== hover) {
            hover = node;
            draw();
        }
        if (event.pointerType !== "touch") showTip(node, event.clientX, event.clientY);
    });
    pane.addEventListener("pointerleave", () => {
        hover = -1;
        showTip(-1);
        draw();
    });
    pane.addEventListener("click", (event) => {
        const box = pane.getBoundingClientRect();
        const node = at(event.clientX - box.left, event.clientY - box.top);
        if (node >= 0) choseFrame(node);
    });
    pane.addEventListener("scroll", () => draw());
    pane.addEventListener("wheel", wheel, { passive: false });
    pane.addEventListener("keydown", chartKey);
    $("flame").addEventListener("keydown", pageKey);
    new ResizeObserver(resize).observe(pane);
    $("search").addEventListener("input", () => { search(); remember(); });
    $("type").addEventListener("change", () => { type = $("type").selectedIndex; choose(); remember(); });
    $("around").onclick = () => (tree.of ? go(showWhole, 0) : go(showAround, tree.name[focus]));
    addEventListener("popstate", recall);
    $("width").addEventListener("change", choose);
    $("palette").addEventListener("change", () => { cache.clear(); draw(); });
    $("theme").onclick = () => { setTheme(document.documentElement.dataset.theme !== "dark"); draw(); };
    $("reset").onclick = reset;
    $("help").onclick = () => $("keys").showModal();
    $("direction").onclick = () => {
        const flame = icicle();
        $("direction").setAttribute("aria-pressed", flame);
        $("direction").textContent = flame ? "Icicle" : "Flame";
        pane.scrollTop = flame ? chartHeight() : 0;
        draw();
    };
    $("top").onclick = () => {
        $("table").hidden = !$("table").hidden;
        $("top").setAttribute("aria-pressed", !$("table").hidden);
        fillTable();
        remember();
    };
}

async function start() {
    tree = whole = await load();
    for (const { name } of tree.types) $("type").append(new Option(name));
    $("type-label").hidden = tree.types.length < 2;
    $("width-label").hidden = !tree.diff;
    $("legend").hidden = !tree.diff;
    if (tree.diff) {
        $("palette").parentElement.hidden = true;
        order = "change";
    }
    setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
    listen();
    recall();
    document.body.dataset.ready = "true";
}
start();
