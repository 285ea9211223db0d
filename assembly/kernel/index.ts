export { hashMany, hashOne } from './many'
export { uncompress } from './snappy'
export {
  beginBody,
  beginTrie,
  bodyHashAt,
  countItems,
  longestItem,
  rootHashAt,
  runBody,
  runTrie,
  workBytes,
} from './trie'

/** Where the memory is the caller's to lay out. */
export function freeMemory(): u32 {
  return (<u32>__heap_base + 15) & ~15
}
