import { expect, it } from 'vitest'
import { LARGE_BYTES, MAX_GOSSIP_BYTES } from '../inspection/largeMessages.ts'
import { allowedBytes, isLarge } from './inboundMessage.ts'

it.each([
  { compressed: 1, declaredBytes: undefined, large: false, allowed: 0 },
  { compressed: LARGE_BYTES, declaredBytes: LARGE_BYTES, large: false, allowed: LARGE_BYTES },
  { compressed: LARGE_BYTES + 1, declaredBytes: undefined, large: true, allowed: 0 },
  { compressed: 1, declaredBytes: LARGE_BYTES + 1, large: true, allowed: LARGE_BYTES + 1 },
  { compressed: 1, declaredBytes: MAX_GOSSIP_BYTES, large: true, allowed: MAX_GOSSIP_BYTES },
  // Refused without decompression.
  { compressed: 1, declaredBytes: MAX_GOSSIP_BYTES + 1, large: false, allowed: MAX_GOSSIP_BYTES },
])(
  'a message of $compressed bytes that declares $declaredBytes is large: $large',
  ({ compressed, declaredBytes, large, allowed }) => {
    expect(isLarge({ data: new Uint8Array(compressed), declaredBytes })).toBe(large)
    expect(allowedBytes({ declaredBytes })).toBe(allowed)
  },
)
