import { expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { decodeTransaction } from '../../rollup/protocol/index.ts'
import { parseChainConfig } from '../config/chainConfig.ts'
import { loadRecordedRpc, recordedBlock } from '../testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../testUtils/signTransaction.ts'
import { BlockReader } from './blockReader.ts'
import { encodeBody } from './storage/bodyCodec.ts'
import type { BlockReads } from './storage/chainReads.ts'
import { encodeHeader, sealHeader } from './storage/headerCodec.ts'

const recording = loadRecordedRpc('holocene-span-brotli-calldata')

it('keeps the latest blocks decoded up to a memory limit, and always the last block', () => {
  const { raw } = signTransaction(DEV_KEYS[0], { to: null, gasLimit: 60_000n })
  const [few, many] = [1_500, 15_000].map((count) => encodeBody(new Array(count).fill(decodeTransaction(raw))))
  const { hash: _, ...header } = recordedBlock(recording, 7).header
  const headers = [1, 2, 3, 4].map((number) => sealHeader({ ...header, number }))
  const [first, second, third, last] = headers.map(({ hash }) => hash) as [Hex, Hex, Hex, Hex]
  const reads: Partial<BlockReads> = {
    header: (wanted) => headers.filter(({ hash }) => hash === wanted).map(encodeHeader)[0],
    body: (wanted) => (wanted === last ? many : few),
  }
  const reader = new BlockReader({ reads: reads as BlockReads }, parseChainConfig(recording.genesis.config))
  const kept = () => headers.filter(({ hash }) => reader.cached(hash) !== undefined).map(({ number }) => number)
  for (const hash of [first, second, third]) reader.block(hash)
  expect(kept()).toEqual([2, 3])
  expect(reader.block(last)?.transactions).toHaveLength(15_000)
  expect(kept()).toEqual([4])
})
