import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../../../lib/errors.ts'
import { errorWith } from '../../../../lib/testUtils/errorWith.ts'
import { encodeResponse } from '../../../../p2p/testUtils/responses.ts'
import { testBlock, testConfig } from '../../../../p2p/testUtils/testChain.ts'
import { throwsOnly } from '../../../../p2p/testUtils/throwsOnly.ts'
import type { Fork } from '../../../../rollup/protocol/types.ts'
import { decodeAnswer } from './blockProbe.ts'

const answerOf = (fork: Fork, blockNumber: number) => {
  const config = testConfig(fork)
  const block = testBlock(config, { blockNumber })
  return { block, bytes: encodeResponse(block, config) }
}

describe('decodeAnswer', () => {
  it.each(['regolith', 'canyon', 'holocene', 'isthmus'] as const)('finds the payload of a %s block', (fork) => {
    const { block, bytes } = answerOf(fork, 7)
    expect(decodeAnswer(bytes, 7)).toEqual({ kind: 'block', hash: block.payload.blockHash, bytes: bytes.length })
  })

  it('refuses another block, and a block with a wrong hash', () => {
    expect(() => decodeAnswer(answerOf('holocene', 8).bytes, 7)).toThrow(errorWith('decode', 8, 7))
    const config = testConfig()
    const forged = testBlock(config, { blockNumber: 7, blockHash: `0x${'12'.repeat(32)}` })
    expect(() => decodeAnswer(encodeResponse(forged, config), 7)).toThrow(errorWith('decode', 'hash'))
  })

  it('returns a refusal of the peer', () => {
    expect(decodeAnswer(Uint8Array.of(1), 7)).toEqual({ kind: 'refusal', code: 1 })
  })

  it('throws only DecodeError', () => {
    const { bytes } = answerOf('isthmus', 7)
    const damaged = fc
      .tuple(fc.integer({ min: 0, max: bytes.length - 1 }), fc.integer({ min: 0, max: 255 }))
      .map(([at, value]) => bytes.with(at, value))
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), damaged), (input) =>
        throwsOnly([DecodeError], () => decodeAnswer(input, 7)),
      ),
    )
  })
})
