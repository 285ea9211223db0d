import { bigIntToBytes, bytesToBigInt } from '../../../lib/bytes.ts'
import { modularPower } from './modularPower.ts'
import { type Precompile, padded } from './precompile.ts'

const HEADER_BYTES = 96
/** EIP-2565. */
const MIN_GAS = 200n
/** EIP-7883 (Karst). */
const KARST_MIN_GAS = 500n
/** EIP-7823 (Karst): most bytes of each number. */
const KARST_MAX_BYTES = 1024n
const MAX_BYTES = 2n ** 28n

/** EIP-198, with the price of EIP-2565. From Karst on, the price of EIP-7883 and the limits of EIP-7823. */
export function modexp(isKarst: boolean): Precompile {
  return {
    gas(input) {
      const lengths = lengthsOf(input)
      if (!isKarst) return priceOf(lengths, input)
      const { base, exponent, modulus } = lengths
      const isTooLong = base > KARST_MAX_BYTES || exponent > KARST_MAX_BYTES || modulus > KARST_MAX_BYTES
      return isTooLong ? undefined : karstPriceOf(lengths, input)
    },
    *run(input) {
      const { base, exponent, modulus } = lengthsOf(input)
      // With an empty modulus, the exponent may have any length.
      if (modulus === 0n) return new Uint8Array(0)
      // No gas limit can pay for this length: 10^14 gas.
      if (base > MAX_BYTES || modulus > MAX_BYTES) return undefined
      const [baseBytes, exponentBytes, modulusBytes] = [Number(base), Number(exponent), Number(modulus)]
      const part = (from: number, length: number) => input.subarray(from, from + length)
      const exponentFrom = HEADER_BYTES + baseBytes
      const modulusValue = bytesToBigInt(padded(part(exponentFrom + exponentBytes, modulusBytes), modulusBytes))
      if (modulusValue === 0n) return new Uint8Array(modulusBytes)
      const baseValue = bytesToBigInt(padded(part(HEADER_BYTES, baseBytes), baseBytes)) % modulusValue
      const digits = part(exponentFrom, exponentBytes)
      const power = yield* modularPower(baseValue, { digits, bytes: exponentBytes }, modulusValue)
      return bigIntToBytes(power, modulusBytes)
    },
  }
}

interface Lengths {
  base: bigint
  exponent: bigint
  modulus: bigint
}

function lengthsOf(input: Uint8Array): Lengths {
  const header = padded(input, HEADER_BYTES)
  const word = (index: number) => bytesToBigInt(header.subarray(index * 32, index * 32 + 32))
  return { base: word(0), exponent: word(1), modulus: word(2) }
}

function priceOf({ base, exponent, modulus }: Lengths, input: Uint8Array): bigint {
  const words = ((base > modulus ? base : modulus) + 7n) / 8n
  const gas = (words * words * iterations(base, exponent, input, 8n)) / 3n
  return gas < MIN_GAS ? MIN_GAS : gas
}

function karstPriceOf({ base, exponent, modulus }: Lengths, input: Uint8Array): bigint {
  const longest = base > modulus ? base : modulus
  const words = (longest + 7n) / 8n
  const complexity = longest <= 32n ? 16n : 2n * words * words
  const gas = complexity * iterations(base, exponent, input, 16n)
  return gas < KARST_MIN_GAS ? KARST_MIN_GAS : gas
}

/** Bits after the first set bit of the exponent's first 32 bytes, plus `perByte` for each later byte. At least 1. */
function iterations(base: bigint, exponent: bigint, input: Uint8Array, perByte: bigint): bigint {
  const headBytes = exponent < 32n ? Number(exponent) : 32
  const from = base > BigInt(input.length) ? input.length : HEADER_BYTES + Number(base)
  const head = bytesToBigInt(padded(input.subarray(from, from + headBytes), headBytes))
  const bits = head === 0n ? 0 : head.toString(2).length - 1
  const count = BigInt(bits) + (exponent > 32n ? (exponent - 32n) * perByte : 0n)
  return count < 1n ? 1n : count
}
