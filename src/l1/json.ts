/** JSON-RPC answers leave absent members out or set them to null. */
export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}
