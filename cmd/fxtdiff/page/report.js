// The table of functions: sorted by a column, and searched.  Without this script it is as the report has it.
"use strict";
(() => {
    const table = document.getElementById("functions");
    if (!table) return;
    const tools = document.getElementById("functions-tools");
    const find = document.getElementById("functions-search");
    const found = document.getElementById("functions-found");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    const valueOf = (row, column) => {
        const cell = row.cells[column];
        return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    };

    const sortBy = (column) => {
        const was = heads[column].getAttribute("aria-sort");
        const text = typeof valueOf(rows[0], column) === "string";
        // Numbers begin with the largest, texts and the report's own order with the first.
        const first = text || column === 0 ? "ascending" : "descending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = was === first ? other : first;
        const sign = order === "ascending" ? 1 : -1;
        const compare = (a, b) => (text ? a.localeCompare(b) : a - b);
        const sorted = rows.map((row, i) => ({ row, i, value: valueOf(row, column) }));
        sorted.sort((a, b) => sign * compare(a.value, b.value) || a.i - b.i);
        body.append(...sorted.map(({ row }) => row));
        for (const head of heads) head.removeAttribute("aria-sort");
        heads[column].setAttribute("aria-sort", order);
    };

    const search = () => {
        const wanted = find.value.toLowerCase();
        let count = 0;
        for (const row of rows) {
            row.hidden = !row.cells[1].textContent.toLowerCase().includes(wanted);
            count += !row.hidden;
        }
        found.textContent = wanted ? `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "";
    };

    heads.forEach((head, column) => {
        if (head.dataset.fixed !== undefined) return;
        const button = document.createElement("button");
        button.append(...head.childNodes);
        button.addEventListener("click", () => sortBy(column));
        head.append(button);
    });
    tools.hidden = false;
    find.addEventListener("input", search);
})();
