import { copyOver } from './copy'

// Snappy's block format (google/snappy, format_description.txt), decompression.

/**
 * Unpacks the elements at `source`, which follow the declared length, to exactly `length` bytes at `target`. False when
 * they are damaged or give another length. Up to 15 bytes behind the target are overwritten, and behind the source are read.
 */
export function uncompress(source: u32, sourceLength: u32, target: u32, length: u32): bool {
  const sourceEnd = source + sourceLength
  const end = target + length
  let at = target
  while (source < sourceEnd) {
    const tag = <u32>load<u8>(source)
    source += 1
    const kind = tag & 3
    if (kind === 0) {
      let size = tag >> 2
      if (size >= 60) {
        const extra = size - 59
        if (sourceEnd - source < extra) return false
        size = 0
        for (let i: u32 = 0; i < extra; i++) size |= (<u32>load<u8>(source + i)) << (8 * i)
        source += extra
        if (size === 0xffffffff) return false
      }
      size += 1
      if (size > sourceEnd - source || size > end - at) return false
      copyOver(at, source, size)
      source += size
      at += size
      continue
    }
    let size: u32
    let distance: u32
    if (kind === 1) {
      if (sourceEnd - source < 1) return false
      size = <u32>((tag >> 2) & 7) + 4
      distance = <u32>(((tag >> 5) << 8) | <u32>load<u8>(source))
      source += 1
    } else {
      const bytes: u32 = kind === 2 ? 2 : 4
      if (sourceEnd - source < bytes) return false
      size = (tag >> 2) + 1
      distance = kind === 2 ? <u32>load<u16>(source) : <u32>load<u32>(source)
      source += bytes
    }
    if (distance === 0 || distance > at - target || size > end - at) return false
    repeat(at, distance, size)
    at += size
  }
  return at === end
}

/** Repeats what stands `distance` bytes before `at`, which may be less than `size`; up to 15 bytes more are overwritten. */
function repeat(at: u32, distance: u32, size: u32): void {
  if (distance === 1) {
    memory.fill(at, load<u8>(at - 1), size)
    return
  }
  const end = at + size
  const from = at - distance
  // The pattern doubles until sixteen bytes can be taken at a time.
  while (at - from < 16 && at < end) {
    const step = at - from
    for (let i: u32 = 0; i < step; i++) store<u8>(at + i, load<u8>(from + i))
    at += step
  }
  const period = ((at - from) / distance) * distance
  for (; at < end; at += 16) v128.store(at, v128.load(at - period))
}
