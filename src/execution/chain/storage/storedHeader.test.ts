import { expect, it } from 'vitest'
import { loadRecordedRpc, recordedBlock } from '../../testUtils/recordedRpc.ts'
import { encodeHeader } from './headerCodec.ts'
import { packHeader, unpackHeader } from './storedHeader.ts'

it('a header survives a round trip, and takes fewer bytes if its block has no logs', () => {
  const recording = loadRecordedRpc('holocene-span-brotli-calldata')
  const seen = new Set<number>()
  for (const number of recording.blocks.keys()) {
    const encoding = encodeHeader(recordedBlock(recording, number).header)
    const stored = packHeader(encoding)
    expect(unpackHeader(stored)).toEqual(encoding)
    seen.add(encoding.length - stored.length)
  }
  expect([...seen].sort()).toEqual([0, 256])
})
