/** The last rows of numbers, in a fixed amount of memory. NaN: not known. */
export class RowRing {
  private readonly cells: Float64Array
  private readonly capacity: number
  private readonly width: number
  private pushed = 0

  constructor(capacity: number, width: number) {
    this.capacity = capacity
    this.width = width
    this.cells = new Float64Array(capacity * width)
  }

  /** A short row is filled with NaN. */
  push(row: readonly number[]): void {
    const at = (this.pushed % this.capacity) * this.width
    for (let column = 0; column < this.width; column++) this.cells[at + column] = row[column] ?? Number.NaN
    this.pushed++
  }

  /** The numbers of one column, oldest first, in rows whose first number exceeds `after`. */
  column(column: number, after: number): (number | null)[] {
    const values: (number | null)[] = []
    for (let row = Math.max(0, this.pushed - this.capacity); row < this.pushed; row++) {
      const at = (row % this.capacity) * this.width
      if ((this.cells[at] ?? 0) <= after) continue
      const value = this.cells[at + column] ?? Number.NaN
      values.push(Number.isNaN(value) ? null : value)
    }
    return values
  }

  /** Clears a column for reuse. */
  clear(column: number): void {
    for (let at = column; at < this.cells.length; at += this.width) this.cells[at] = Number.NaN
  }
}
