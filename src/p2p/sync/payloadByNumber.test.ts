import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { toHex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import type { Fork } from '../../rollup/protocol/types.ts'
import { decodeResponse, encodeResponse } from '../testUtils/responses.ts'
import { testBlock, testConfig } from '../testUtils/testChain.ts'
import { decodeRequest, encodeRequest, payloadByNumberProtocols, responseParts } from './payloadByNumber.ts'

const TIME = 1_700_000_000

describe('payload_by_number', () => {
  it('has the protocol ids of both kinds of peers', () => {
    expect(payloadByNumberProtocols(10n)).toEqual([
      '/opstack/req/payload_by_number/10/0',
      '/opstack/req/payload_by_number/10/0/',
    ])
  })

  it('encodes the number in little-endian', () => {
    expect(toHex(encodeRequest(0x01020304))).toBe('0x0403020100000000')
    expect(decodeRequest(encodeRequest(2 ** 53 - 1))).toBe(2 ** 53 - 1)
  })

  it.each<[Fork, number]>([
    ['regolith', 0],
    ['canyon', 0],
    ['ecotone', 1],
    ['holocene', 1],
    ['isthmus', 1],
    ['jovian', 1],
  ])('answers on %s with version %d', (fork, version) => {
    const config = testConfig(fork)
    const block = testBlock(config, { timestamp: TIME })
    const response = encodeResponse(block, config)
    expect([...response.subarray(0, 5)]).toEqual([0, version, 0, 0, 0])
    expect(decodeResponse(response, config, TIME)).toEqual({ code: 0, envelope: block })
  })

  it('sends a large block in parts of a quarter megabyte', () => {
    const config = testConfig('isthmus')
    const transactions = Array.from({ length: 5_000 }, (_, n) => new Uint8Array(randomBytes(n % 300)))
    const block = testBlock(config, { timestamp: TIME, transactions })
    const pieces = [...responseParts(block, config)]
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(263_000)
    expect(decodeResponse(concatBytes(...pieces), config, TIME)).toEqual({ code: 0, envelope: block })
  })

  it("decodes the specs' version 2 for Isthmus, and no other version", () => {
    const config = testConfig('isthmus')
    const response = encodeResponse(testBlock(config, { timestamp: TIME }), config)
    response[1] = 2
    expect(decodeResponse(response, config, TIME).code).toBe(0)
    response[1] = 3
    expect(() => decodeResponse(response, config, TIME)).toThrow(errorWith('decode', 'version 3'))
    const ecotone = testConfig('ecotone')
    const older = encodeResponse(testBlock(ecotone, { timestamp: TIME }), ecotone)
    older[1] = 2
    expect(() => decodeResponse(older, ecotone, TIME)).toThrow(errorWith('decode', 'version 2'))
  })

  it('decodes an error code', () => {
    expect(decodeResponse(Uint8Array.of(1), testConfig(), TIME)).toEqual({ code: 1 })
    expect(decodeResponse(Uint8Array.of(130, 9), testConfig(), TIME)).toEqual({ code: 130 })
  })
})
