/**
 * Two decimals, or two significant digits if two decimals would show 0. The commands and the dashboard use this format.
 */
export function formatNumber(value: number): string {
  const rounded = Math.round(value * 100) / 100
  if (rounded !== 0 || value === 0) return String(rounded)
  return Math.abs(value) < 1e-6 ? '0' : String(Number(value.toPrecision(2)))
}
