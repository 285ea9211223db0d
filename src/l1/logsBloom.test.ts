import { describe, expect, it } from 'vitest'
import { loadRecording, type RecordingName } from '../../test/support/recording.ts'
import type { Hex } from '../lib/hex.ts'
import { createBloomTest } from './logsBloom.ts'

const RECORDINGS: RecordingName[] = [
  'granite-singular-zlib-calldata',
  'granite-span-zlib-blobs',
  'holocene-span-brotli-calldata',
]

describe.each(RECORDINGS)('the bloom filters of %s', (name) => {
  const { l1 } = loadRecording(name)
  const logged = (block: (typeof l1)[number]): Set<Hex> => {
    const logs = block.receipts.flatMap((receipt) => receipt.logs as unknown as { address: Hex }[])
    return new Set(logs.map(({ address }) => address))
  }
  const unused = Array.from({ length: 50 }, (_, i): Hex => `0x${(i + 1).toString(16).padStart(40, '0')}`)

  it('contain each contract that logged, and few others', () => {
    let loggers = 0
    let wrong = 0
    for (const block of l1) {
      const bloom = block.logsBloom as Hex
      const here = logged(block)
      for (const address of here) {
        loggers += 1
        expect(createBloomTest([...unused, address])(bloom)).toBe(true)
      }
      for (const other of unused) if (createBloomTest([other])(bloom)) wrong += 1
      expect(createBloomTest([])(bloom)).toBe(false)
    }
    expect(loggers).toBeGreaterThan(1)
    expect(wrong).toBeLessThan(l1.length)
  })
})
