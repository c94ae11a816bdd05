
"use strict";
(function () {
	const body = document.querySelector("#rows tbody");
	const list = Array.from(body.rows, tr => ({
		tr: tr, depth: +tr.dataset.d, thread: tr.cells[2].textContent, enter: tr.className === "enter", text: null,
	}));
	const find = document.getElementById("find");
	const count = document.getElementById("count");

	// A folded call hides the rows of its thread that are deeper, and its
	// leave. A row is shown if no folded call hides it and the text is in it.
	function show() {
		const want = find.value.toLowerCase();
		const inside = new Map();
		let shown = 0;
		for (const r of list) {
			const fold = inside.get(r.thread);
			let hide = false;
			if (fold !== undefined) {
				if (r.depth > fold || r.depth === fold && !r.enter) hide = true;
				if (r.depth <= fold) inside.delete(r.thread);
			}
			if (!hide && r.tr.classList.contains("folded")) inside.set(r.thread, r.depth);
			if (!hide && want) {
				if (r.text === null) r.text = (r.tr.textContent + " " + r.tr.cells[5].title).toLowerCase();
				hide = !r.text.includes(want);
			}
			if (r.tr.hidden !== hide) r.tr.hidden = hide;
			if (!hide) shown++;
		}
		count.textContent = shown.toLocaleString("en") + " of " + list.length.toLocaleString("en") + " rows shown";
	}

	function all(folded) {
		for (const r of list) if (r.enter) r.tr.classList.toggle("folded", folded);
		show();
	}

	body.addEventListener("click", event => {
		const cell = event.target.closest("td");
		if (!cell || cell.cellIndex !== 4 || !cell.parentNode.classList.contains("enter") || String(getSelection())) return;
		cell.parentNode.classList.toggle("folded");
		show();
	});
	document.getElementById("fold").addEventListener("click", () => all(true));
	document.getElementById("unfold").addEventListener("click", () => all(false));
	document.getElementById("tools").addEventListener("submit", event => event.preventDefault());
	let timer = 0;
	find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 200); });
	document.addEventListener("keydown", event => {
		if (event.key === "/" && event.target !== find) { event.preventDefault(); find.focus(); }
	});
	document.getElementById("tools").hidden = false;
	show();
})();
