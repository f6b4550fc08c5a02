"use strict";
(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const byId = (id) => document.getElementById(id);
    const WIDTH = 560, HEIGHT = 150, LEFT = 58, RIGHT = 8, TOP = 8, BOTTOM = 20;

    /* Names are put into the page as text alone; what steers text is shown, not obeyed. */
    const shown = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
        (character) => "\\u" + character.charCodeAt(0).toString(16).padStart(4, "0"));
    const make = (tag, className, text) => {
        const element = document.createElement(tag);
        if (className) element.className = className;
        if (text !== undefined) element.textContent = shown(text);
        return element;
    };
    const draw = (parent, tag, attributes) => {
        const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const key in attributes) element.setAttribute(key, attributes[key]);
        parent.append(element);
        return element;
    };

    /* ---- Numbers and names ---- */

    const scaled = (value, steps, base) => {
        let step = 0;
        while (step + 1 < steps.length && value >= base) {
            value /= base;
            step++;
        }
        return value.toPrecision(4) + " " + steps[step];
    };
    const amount = (series, value) => {
        if (series.kind !== "run") return (100 * value).toFixed(2) + "%";
        if (data.unit === "nanoseconds") return scaled(value, ["ns", "µs", "ms", "s"], 1000);
        if (data.unit === "bytes") return scaled(value, ["B", "KiB", "MiB", "GiB"], 1024);
        return value.toLocaleString("en", { maximumFractionDigits: 0 });
    };
    const percent = (value) => (value >= 0 ? "+" : "\u2212") + Math.abs(100 * value).toFixed(1) + "%";
    const sizeOf = (change) => change.relative === null ? "new" : change.relative <= -1 ? "gone" : percent(change.relative);
    const isWorse = (change) => change.relative === null || change.relative > 0;
    const label = (commit) => /^[0-9a-f]{40,64}$/.test(commit.label) ? commit.label.slice(0, 12) : commit.label;
    const nameOf = (series) => series.name + (series.kind === "total" ? ", with callees" : "");
    const weight = (series) => series.kind === "run" ? Infinity :
        Math.max(0, ...series.changes.map((change) => Math.abs(change.after - change.before)));

    /* ---- A plot ---- */

    const tip = byId("tip");
    const showTip = (event, text) => {
        tip.textContent = shown(text);
        tip.hidden = false;
        tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
        tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
    };

    const scaleOf = (series) => {
        const high = Math.max(...series.values), low = Math.min(...series.values);
        const room = Math.max(0.08 * (high - low), 0.05 * high) || 1;
        const bottom = Math.max(0, low - room), top = high + room;
        const last = Math.max(1, series.values.length - 1);
        return {
            x: (i) => LEFT + (WIDTH - LEFT - RIGHT) * i / last,
            y: (value) => TOP + (HEIGHT - TOP - BOTTOM) * (top - value) / (top - bottom),
            commit: (x) => Math.round((x - LEFT) / (WIDTH - LEFT - RIGHT) * last),
            bottom, top,
        };
    };

    const median = (values) => {
        const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
        return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    };

    /* Levels between changes, with a slope where a change was creep. */
    const drawLevels = (svg, series, scale) => {
        let start = 0, path = "";
        for (const change of [...series.changes, null]) {
            const end = change === null ? series.values.length : change.shape === "creep" ? change.last_good + 1 : change.at;
            const y = scale.y(median(series.values.slice(start, Math.max(end, start + 1))));
            path += (path ? "L" : "M") + scale.x(start) + " " + y + "L" + scale.x(Math.max(end - 1, start)) + " " + y;
            if (change !== null) start = change.shape === "creep" ? change.first_bad : change.at;
        }
        draw(svg, "path", { class: "level", d: path });
    };

    const plot = (series) => {
        const figure = make("figure"), caption = make("figcaption");
        const title = make("b", "", nameOf(series));
        title.title = shown(nameOf(series) + (series.file ? "\n" + series.file + ":" + series.line : ""));
        caption.append(title, make("span", "soft", "noise " + (100 * series.noise).toFixed(1) + "%"));
        figure.append(caption);
        const svg = draw(figure, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
        svg.setAttribute("aria-label", shown(nameOf(series) + ": " + (series.changes.map(sizeOf).join(", ") || "no change")));
        const scale = scaleOf(series);
        for (const value of [scale.bottom, (scale.bottom + scale.top) / 2, scale.top]) {
            draw(svg, "line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: scale.y(value), y2: scale.y(value) });
            draw(svg, "text", { x: LEFT - 6, y: scale.y(value) + 4, "text-anchor": "end" }).textContent = amount(series, value);
        }
        const ends = [[0, "start"], [series.values.length - 1, "end"]];
        for (const [i, anchor] of ends)
            draw(svg, "text", { x: scale.x(i), y: HEIGHT - 5, "text-anchor": anchor }).textContent = shown(label(data.commits[i]));
        for (const change of series.changes)
            draw(svg, "rect", { class: "span " + (isWorse(change) ? "worse" : "better"), x: scale.x(change.last_good), y: TOP,
                width: scale.x(change.first_bad) - scale.x(change.last_good), height: HEIGHT - TOP - BOTTOM });
        series.values.forEach((value, i) => draw(svg, "circle", { class: "dot", cx: scale.x(i), cy: scale.y(value), r: 2 }));
        drawLevels(svg, series, scale);
        svg.addEventListener("pointermove", (event) => {
            const box = svg.getBoundingClientRect();
            const i = Math.max(0, Math.min(series.values.length - 1, scale.commit((event.clientX - box.left) * WIDTH / box.width)));
            const commit = data.commits[i];
            showTip(event, label(commit) + ": " + amount(series, series.values[i]) + ", " + commit.runs + (commit.runs === 1 ? " run" : " runs") +
                (commit.subject ? " \u2013 " + commit.subject : ""));
        });
        svg.addEventListener("pointerleave", () => { tip.hidden = true; });
        return figure;
    };

    /* ---- The page ---- */

    const series = [...data.series].sort((a, b) => weight(b) - weight(a) || 0);
    const figures = new Map();

    const showPlots = () => {
        const wanted = byId("search").value.toLowerCase(), quiet = byId("quiet").checked;
        byId("plots").replaceChildren(...series.filter((one) =>
            (quiet || wanted || one.kind === "run" || one.changes.length > 0) && nameOf(one).toLowerCase().includes(wanted)
        ).map((one) => {
            if (!figures.has(one)) figures.set(one, plot(one));
            return figures.get(one);
        }));
    };

    const choose = (one) => {
        byId("search").value = "";
        showPlots();
        for (const [other, figure] of figures) figure.classList.toggle("chosen", other === one);
        figures.get(one).scrollIntoView({ block: "center" });
    };

    const rangeOf = (change) => {
        const cell = make("td", "range"), good = data.commits[change.last_good], bad = data.commits[change.first_bad];
        const distance = change.first_bad - change.last_good;
        cell.append(make("code", "", label(good) + ".." + label(bad)));
        const more = change.shape === "creep" ? "little by little, over " + distance + " commits" :
            distance > 1 ? "one of " + distance + " commits" : bad.subject || "";
        cell.append(make("span", "soft", "  " + more));
        return cell;
    };

    const showChanges = () => {
        const rows = series.flatMap((one) => one.changes.map((change) => ({ one, change })));
        rows.sort((a, b) => b.change.at - a.change.at);
        const table = byId("changes"), head = make("tr");
        for (const title of ["change", "95 % interval", "function", "last good .. first bad", "before", "after"]) head.append(make("th", "", title));
        if (rows.length > 0) table.append(head);
        else table.append(make("caption", "soft", data.enough ? "No change was found." : "There are too few commits to find a change."));
        for (const { one, change } of rows) {
            const row = make("tr", "go");
            row.append(make("td", "number " + (isWorse(change) ? "worse" : "better"), sizeOf(change)));
            row.append(make("td", "number soft", change.low === null || change.relative <= -1 ? "" : percent(change.low) + " to " + percent(change.high)));
            row.append(make("td", "name", nameOf(one)), rangeOf(change));
            row.append(make("td", "number", amount(one, change.before)), make("td", "number", amount(one, change.after)));
            row.addEventListener("click", () => choose(one));
            table.append(row);
        }
    };

    const runs = data.commits.reduce((sum, commit) => sum + commit.runs, 0);
    byId("summary").textContent = shown(data.commits.length + " commits, " + runs + " runs of " + data.sample_type + " in " + data.unit + ", " +
        data.order + ". Without a change, " + +(100 * data.options.level).toPrecision(3) + " of 100 histories would show any." +
        (data.note ? " Note: " + data.note + "." : ""));
    byId("search").addEventListener("input", showPlots);
    byId("quiet").addEventListener("change", showPlots);
    showChanges();
    showPlots();
})();
