import fc from 'fast-check'
import { expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { fromHex } from '../../lib/hex.ts'
import { revertError, revertReason } from './revert.ts'

const word = (value: number) => fromHex(value.toString(16).padStart(64, '0'))

it('decodes a reason string', () => {
  // Error("no") as solc encodes it.
  const data = fromHex(
    '0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000026e6f000000000000000000000000000000000000000000000000000000000000',
  )
  const error = revertError(data)
  expect(error.rpcCode).toBe(3)
  expect(error.message).toBe('execution reverted: no')
  expect(error.data).toBe(`0x${Buffer.from(data).toString('hex')}`)
})

it('decodes a panic code', () => {
  const panic = (code: number) => revertReason(concatBytes(fromHex('0x4e487b71'), word(code)))
  expect(panic(0x11)).toBe('arithmetic underflow or overflow')
  expect(panic(0x77)).toBe('unknown panic code: 0x77')
})

it('returns no reason for a custom error or empty data', () => {
  expect(revertError(fromHex('0xdeadbeef')).message).toBe('execution reverted')
  expect(revertError(new Uint8Array())).toMatchObject({
    rpcCode: 3,
    message: 'execution reverted',
    data: '0x',
  })
})

it('never throws on arbitrary data', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (body) => {
      revertReason(concatBytes(fromHex('0x08c379a0'), body))
      revertReason(concatBytes(fromHex('0x4e487b71'), body))
    }),
  )
  expect(revertReason(concatBytes(fromHex('0x08c379a0'), word(0x20), word(33), new Uint8Array(32)))).toBeUndefined()
})
