/** A label whose end is at a vertical line below it. */
export interface Label {
  at: number
  length: number
}

const GAP = 6

/**
 * Assigns a row to each label, 0 the lowest, so that no label overlaps another label or its line. The labels are ordered from
 * left to right.
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
