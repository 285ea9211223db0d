/** A text that ends at a line which goes down from it. */
export interface Label {
  at: number
  length: number
}

/** Between two texts. */
const GAP = 6

/**
 * A row for each label, 0 the lowest, so that no text lies on another, nor on the line of another. The labels stand from left
 * to right.
 */
export function labelRows(labels: readonly Label[]): number[] {
  const rows: number[] = []
  for (const [index, { at, length }] of labels.entries()) {
    const beneath = labels
      .slice(0, index)
      .flatMap((left, other) => (left.at > at - length - GAP ? [rows[other] ?? 0] : []))
    rows.push(Math.max(-1, ...beneath) + 1)
  }
  return rows
}
