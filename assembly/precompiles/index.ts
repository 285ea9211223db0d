export { mix } from './blake2f'
export { multiply, power } from './power'

/** Where the memory is the caller's to lay out. */
export function freeMemory(): u32 {
  return (<u32>__heap_base + 15) & ~15
}
