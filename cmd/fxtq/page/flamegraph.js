// The page of "fxtq flamegraph": draws what can be seen of a tree of call sites on a canvas.
//
// The tree comes as columns (see cmd/fxtq/flame/page.c): nodes in the order of a walk from callers to callees,
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
    tree.self = [];
    for (const column of json.self) tree.self.push(await unpack(column, Float64Array));
    link(tree);
    return tree;
}

// Parents, and where subtrees end: node i's are [i + 1, end[i]).
function link(tree) {
    const { count, depth } = tree;
    const parent = new Int32Array(count).fill(-1);
    const end = new Uint32Array(count);
    const last = [];
    let rows = 0;
    for (let i = 0; i < count; i++) {
        last[depth[i]] = i;
        if (depth[i]) parent[i] = last[depth[i] - 1];
        if (depth[i] >= rows) rows = depth[i] + 1;
        end[i] = i + 1;
    }
    for (let i = count - 1; i > 0; i--) if (end[i] > end[parent[i]]) end[parent[i]] = end[i];
    Object.assign(tree, { parent, end, rows });
}

// Inclusive values of a column of own values.
function totals(tree, self) {
    const total = Float64Array.from(self);
    for (let i = tree.count - 1; i > 0; i--) total[tree.parent[i]] += total[i];
    return total;
}

// Where frames begin when their widths are these totals.
function starts(tree, total) {
    const start = new Float64Array(tree.count);
    const next = new Float64Array(tree.count); // where the next child begins
    for (let i = 1; i < tree.count; i++) {
        const parent = tree.parent[i];
        start[i] = next[i] = next[parent];
        next[parent] += total[i];
    }
    return start;
}

// Own and inclusive value of each name; a function that calls itself counts once.
function perName(tree, self, total) {
    const names = tree.functions.length;
    const own = new Float64Array(names);
    const all = new Float64Array(names);
    const until = new Uint32Array(names); // within the subtree of a node of that name up to here
    for (let i = 1; i < tree.count; i++) {
        const name = tree.name[i];
        own[name] += self[i];
        if (i < until[name]) continue;
        all[name] += total[i];
        until[name] = tree.end[i];
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
const functionOf = (i) => tree.strings[tree.functions[tree.name[i]]];
const moduleOf = (i) => tree.strings[tree.modules[tree.name[i]]];

// ---- State ----

let tree;
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
    value = { self, total: totals(tree, self), unit: tree.types[type].unit };
    let width = value.total;
    if (tree.diff) {
        const before = totals(tree, tree.self[type * 2]);
        value.base = before;
        value.baseSelf = tree.self[type * 2];
        const kind = $("width").value;
        if (kind === "base") width = before;
        else if (kind === "both") width = value.total.map((x, i) => x + before[i]);
    }
    value.width = width;
    value.start = starts(tree, width);
    value.names = null;
    $("summary").textContent = tree.diff
        ? `${amount(value.base[0], value.unit)} → ${amount(value.total[0], value.unit)}`
        : amount(value.total[0], value.unit);
    zoom(zoomed, false);
    search();
    fillTable();
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
    const before = value.base[0] ? value.base[node] / value.base[0] : 0;
    const after = value.total[0] ? value.total[node] / value.total[0] : 0;
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
        const top = rowTop(tree.depth[node]) - scrollTop;
        drawn[tree.depth[node]].push(left, right, node);
        if (top > -ROW && top < height) drawFrame(node, left, right, top, styles);
        drawChildren(node, scale, width, scrollTop, height, few, stack);
    }
}

// Children that are wide enough go onto the stack, the others into strips of grey.
function drawChildren(node, scale, width, scrollTop, height, few, stack) {
    const top = rowTop(tree.depth[node] + 1) - scrollTop;
    let strip = -1;
    let stripEnd = -1;
    const flush = () => {
        if (strip >= 0 && top > -ROW && top < height) {
            context.fillStyle = few;
            context.fillRect(strip, top + ROW - 5, Math.max(stripEnd - strip, 0.5), 4);
        }
        strip = -1;
    };
    for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) {
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
    if (wide > 30) drawText(node ? functionOf(node) : tree.title, left + 4, top + ROW / 2, wide - 8);
    context.globalAlpha = 1;
    if (node === hover || node === focus) {
        context.strokeStyle = styles.getPropertyValue(node === focus ? "--focus" : "--ink");
        context.lineWidth = node === focus ? 2 : 1;
        context.strokeRect(left + 1, top + 1, Math.max(wide - 2, 1), ROW - 3);
    }
}

// Long names are cut in the middle: both ends of a C++ name tell it apart.
function drawText(text, x, y, width) {
    if (!measured.size) measured.set("m", context.measureText("m").width);
    const room = Math.floor(width / measured.get("m"));
    if (room < 3) return;
    const head = Math.ceil((room - 1) / 2);
    const shown = text.length <= room ? text : `${text.slice(0, head)}…${text.slice(text.length - (room - 1 - head))}`;
    context.fillStyle = textColour;
    context.fillText(shown, x, y);
}

// ---- Zoom ----

function path(node) {
    const nodes = [];
    for (let i = node; i >= 0; i = tree.parent[i]) nodes.unshift(i);
    return nodes;
}

function zoom(node, animate = true) {
    zoomed = focus = node;
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

function showPath() {
    const nodes = path(zoomed);
    const shown = nodes.length > 8 ? [nodes[0], -1, ...nodes.slice(-6)] : nodes;
    $("path").replaceChildren(
        ...shown.map((node) => {
            if (node < 0) return document.createTextNode(" … ");
            const button = document.createElement("button");
            button.textContent = node ? functionOf(node) : "all";
            button.onclick = () => zoom(node);
            return button;
        })
    );
}

// ---- What a frame says ----

function facts(node) {
    const { total, self, unit } = value;
    const lines = [`total ${amount(total[node], unit)} (${percent(total[node], total[0])})`, `self ${amount(self[node], unit)} (${percent(self[node], total[0])})`];
    if (zoomed && node > zoomed && node < tree.end[zoomed]) lines.push(`${percent(total[node], total[zoomed])} of ${functionOf(zoomed)}`);
    if (tree.diff) {
        const change = 100 * ((total[0] ? total[node] / total[0] : 0) - (value.base[0] ? value.base[node] / value.base[0] : 0));
        lines.push(`before ${amount(value.base[node], unit)} (${percent(value.base[node], value.base[0])})`, `${change >= 0 ? "+" : "−"}${Math.abs(change).toFixed(2)} points`);
    }
    if (node && moduleOf(node)) lines.push(moduleOf(node));
    return lines;
}

function describe(node) {
    $("detail").textContent = `${node ? functionOf(node) : "all"} — ${facts(node).join(" · ")}`;
}

function showTip(node, x, y) {
    const tip = $("tip");
    tip.hidden = node < 0;
    if (node < 0) return;
    const name = document.createElement("b");
    name.textContent = node ? functionOf(node) : "all";
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
    for (let i = 1; i < tree.count; )
        if (matches[tree.name[i]]) {
            sum += value.total[i];
            frames++;
            i = tree.end[i];
        } else i++;
    $("matched").textContent = `${percent(sum, value.total[0])} matched, ${frames.toLocaleString("en")} ${frames === 1 ? "stack" : "stacks"}`;
}

// ---- The table of functions ----

let order = "own";
function fillTable() {
    if ($("table").hidden) return;
    value.names ||= perName(tree, value.self, value.total);
    const { own, all } = value.names;
    const by = order === "own" ? own : all;
    const best = Array.from(by.keys()).filter((name) => name && all[name] > 0);
    best.sort((a, b) => by[b] - by[a] || all[b] - all[a] || a - b);
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const [key, title] of [["own", "Self"], ["all", "Total"], ["", "Function"]]) {
        const cell = document.createElement("th");
        const button = document.createElement("button");
        button.textContent = title + (key === order ? " ▾" : "");
        if (key) button.onclick = () => { order = key; fillTable(); };
        cell.append(key ? button : title);
        head.append(cell);
    }
    const body = table.createTBody();
    for (const name of best.slice(0, 500)) {
        const row = body.insertRow();
        row.insertCell().textContent = `${amount(own[name], value.unit)}  ${percent(own[name], value.total[0])}`;
        row.insertCell().textContent = `${amount(all[name], value.unit)}  ${percent(all[name], value.total[0])}`;
        const button = document.createElement("button");
        const text = tree.strings[tree.functions[name]];
        button.textContent = button.title = text;
        button.onclick = () => {
            $("search").value = `^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
            search();
        };
        row.insertCell().append(button);
    }
    $("table").replaceChildren(table);
}

// ---- Keys and pointer ----

function firstChild(node) {
    let best = -1;
    for (let child = node + 1; child < tree.end[node]; child = tree.end[child])
        if (best < 0 || value.width[child] > value.width[best]) best = child;
    return best;
}

// The visible sibling before (by -1) or after (by 1) a frame; itself when there is none.
function sibling(node, by) {
    const parent = tree.parent[node];
    let previous = node;
    let passed = false;
    if (parent < 0) return node;
    for (let child = parent + 1; child < tree.end[parent]; child = tree.end[child]) {
        if (!(value.width[child] > 0)) continue;
        if (by < 0 && child === node) return previous;
        if (by > 0 && passed) return child;
        passed ||= child === node;
        previous = child;
    }
    return node;
}

function goTo(node) {
    if (node < 0) return;
    focus = node;
    const top = rowTop(tree.depth[node]);
    const pane = $("scroll");
    if (top < pane.scrollTop) pane.scrollTop = top;
    if (top + ROW > pane.scrollTop + pane.clientHeight) pane.scrollTop = top + ROW - pane.clientHeight;
    describe(node);
    draw();
}

function chartKey(event) {
    const deeper = icicle() ? "ArrowDown" : "ArrowUp";
    const keys = {
        ArrowLeft: () => goTo(sibling(focus, -1)),
        ArrowRight: () => goTo(sibling(focus, 1)),
        ArrowDown: () => goTo(deeper === "ArrowDown" ? firstChild(focus) : tree.parent[focus]),
        ArrowUp: () => goTo(deeper === "ArrowUp" ? firstChild(focus) : tree.parent[focus]),
        Enter: () => zoom(focus),
        Backspace: () => zoom(Math.max(0, tree.parent[zoomed])),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
}

function pageKey(event) {
    const typing = event.target.matches("input, select");
    if (event.key === "Escape") {
        $("search").value = "";
        search();
        zoom(0);
        $("scroll").focus();
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const buttons = { i: "direction", t: "top", d: "theme", "?": "help" };
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
        showTip(node, event.clientX, event.clientY);
    });
    pane.addEventListener("pointerleave", () => {
        hover = -1;
        showTip(-1);
        draw();
    });
    pane.addEventListener("click", (event) => {
        const box = pane.getBoundingClientRect();
        const node = at(event.clientX - box.left, event.clientY - box.top);
        if (node >= 0) zoom(node);
    });
    pane.addEventListener("scroll", () => draw());
    pane.addEventListener("wheel", wheel, { passive: false });
    pane.addEventListener("keydown", chartKey);
    document.addEventListener("keydown", pageKey);
    new ResizeObserver(resize).observe(pane);
    $("search").addEventListener("input", search);
    $("type").addEventListener("change", () => { type = $("type").selectedIndex; choose(); });
    $("width").addEventListener("change", choose);
    $("palette").addEventListener("change", () => { cache.clear(); draw(); });
    $("theme").onclick = () => { setTheme(document.documentElement.dataset.theme !== "dark"); draw(); };
    $("reset").onclick = () => { $("search").value = ""; search(); zoom(0); };
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
    };
}

async function start() {
    tree = await load();
    for (const { name } of tree.types) $("type").append(new Option(name));
    type = tree.chosen;
    $("type").selectedIndex = type;
    $("type-label").hidden = tree.types.length < 2;
    $("width-label").hidden = !tree.diff;
    if (tree.diff) $("palette").parentElement.hidden = true;
    setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
    listen();
    choose();
    resize();
    document.body.dataset.ready = "true";
}
start();
