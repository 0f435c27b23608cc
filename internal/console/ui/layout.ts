// Where the cells of the fleet lie: blocks of clusters with the same value, in rows that fill the width.

export interface Block { title: string; x: number; y: number; width: number; columns: number; members: number[] }

export interface Layout { blocks: Block[]; cellWidth: number; cellHeight: number; gap: number; height: number; named: boolean }

const titleHeight = 24, blockGap = 16, narrowestTitle = 132;

// layout places the clusters. Few clusters get cells that hold their names.
export function layout(width: number, groups: { title: string; members: number[] }[], count: number): Layout {
  const named = count <= 160;
  const size = count <= 1000 ? 16 : count <= 4000 ? 12 : 9;
  const out: Layout = { blocks: [], cellWidth: named ? Math.min(148, width - 4) : size, cellHeight: named ? 28 : size, gap: named ? 6 : count <= 1000 ? 3 : 1, height: 0, named };
  const stepX = out.cellWidth + out.gap, stepY = out.cellHeight + out.gap;
  let x = 0, y = 0, rowHeight = 0;
  for (const { title, members } of groups) {
    const most = Math.max(1, Math.floor((width + out.gap) / stepX));
    const least = Math.ceil(narrowestTitle / stepX);
    const wanted = groups.length === 1 ? most : Math.ceil(Math.sqrt(members.length * (named ? 0.5 : 2.2)));
    const columns = Math.min(most, Math.max(least, wanted));
    const blockWidth = Math.min(width, Math.max(columns * stepX - out.gap, narrowestTitle));
    const top = title === "" ? 0 : titleHeight;
    const height = top + Math.ceil(members.length / columns) * stepY;
    if (x > 0 && x + blockWidth > width) {
      x = 0;
      y += rowHeight + blockGap;
      rowHeight = 0;
    }
    out.blocks.push({ title, x, y: y + top, width: blockWidth, columns, members });
    x += blockWidth + blockGap;
    rowHeight = Math.max(rowHeight, height);
  }
  out.height = y + rowHeight;
  return out;
}

// cellAt returns the cluster at a point; -1 for none.
export function cellAt(of: Layout, x: number, y: number): number {
  const stepX = of.cellWidth + of.gap, stepY = of.cellHeight + of.gap;
  for (const block of of.blocks) {
    const column = Math.floor((x - block.x) / stepX), row = Math.floor((y - block.y) / stepY);
    if (column < 0 || row < 0 || column >= block.columns) continue;
    const found = block.members[row * block.columns + column];
    if (found !== undefined) return found;
  }
  return -1;
}
