/** Two decimals, or two digits where that would be nothing. Commands and the page write numbers in this way. */
export function formatNumber(value: number): string {
  const rounded = Math.round(value * 100) / 100
  if (rounded !== 0 || value === 0) return String(rounded)
  return Math.abs(value) < 1e-6 ? '0' : String(Number(value.toPrecision(2)))
}
