import { describe, expect, it } from 'vitest'
import { fromHex } from '../hex.ts'
import { blobFault, KZG_BLOB_BYTES, versionedHashOf } from './kzg.ts'

const ORDER = fromHex('0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001')

describe('a blob', () => {
  const withElement = (index: number, element: Uint8Array): Uint8Array => {
    const blob = new Uint8Array(KZG_BLOB_BYTES)
    blob.set(element, index * 32)
    return blob
  }
  const orderPlus = (last: number): Uint8Array => Uint8Array.from(ORDER).fill(last, 31)

  it('has 4096 field elements below the order of the field', () => {
    expect(blobFault(withElement(4095, orderPlus(0)))).toBeUndefined()
    expect(blobFault(withElement(4095, orderPlus(1)))).toBe("field element 4095 is not below the field's order")
    expect(blobFault(withElement(0, new Uint8Array(32).fill(0xff)))).toBe(
      "field element 0 is not below the field's order",
    )
    expect(blobFault(new Uint8Array(KZG_BLOB_BYTES - 1))).toBe('131071 bytes, expected 131072')
  })
})

it('a versioned hash begins with its version', () => {
  // The commitment of an empty blob: the point at infinity.
  const infinity = fromHex(`0xc0${'00'.repeat(47)}`)
  expect(versionedHashOf(infinity)).toBe('0x010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014')
})
