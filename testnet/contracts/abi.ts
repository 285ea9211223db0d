import { bigIntToBytes, concatBytes } from '../../src/lib/bytes.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex } from '../../src/lib/hex.ts'

export interface AbiParameter {
  name?: string
  type: string
  components?: readonly AbiParameter[]
}

export interface AbiItem {
  type: string
  name?: string
  inputs?: readonly AbiParameter[]
}

/** Integers, booleans, hex (addresses, bytes), text for `string`, and lists for tuples. */
export type AbiValue = bigint | number | boolean | string | Uint8Array | readonly AbiValue[]

/**
 * The part of the contract ABI that a deployment needs: words, `bytes`, `string` and tuples, but no arrays. A whole Ethereum
 * library takes longer to load than the deployment takes to run.
 */
export function encodeParameters(parameters: readonly AbiParameter[], values: readonly AbiValue[]): Uint8Array {
  if (parameters.length !== values.length) {
    throw new DeviumError('abi', `expected ${parameters.length} arguments, got ${values.length}`)
  }
  const encoded = parameters.map((parameter, index) => ({
    dynamic: isDynamic(parameter),
    bytes: encodeValue(parameter, values[index] ?? ''),
  }))
  const headLength = encoded.reduce((sum, { dynamic, bytes }) => sum + (dynamic ? 32 : bytes.length), 0)
  const heads: Uint8Array[] = []
  const tails: Uint8Array[] = []
  let offset = headLength
  for (const { dynamic, bytes } of encoded) {
    heads.push(dynamic ? bigIntToBytes(BigInt(offset), 32) : bytes)
    if (!dynamic) continue
    tails.push(bytes)
    offset += bytes.length
  }
  return concatBytes(...heads, ...tails)
}

/** Selector and arguments of the only function of that name. */
export function encodeCall(abi: readonly AbiItem[], name: string, values: readonly AbiValue[]): Uint8Array {
  const matches = abi.filter((item) => item.type === 'function' && item.name === name)
  const [item] = matches
  if (item === undefined || matches.length > 1) {
    throw new DeviumError('abi', `the contract has ${matches.length} functions named ${name}, expected one`)
  }
  const inputs = item.inputs ?? []
  return concatBytes(
    functionSelector(`${name}(${inputs.map(canonicalType).join(',')})`),
    encodeParameters(inputs, values),
  )
}

/** Creation code and constructor arguments. */
export function encodeDeployment(
  artifact: { abi: readonly AbiItem[]; creationCode: Uint8Array },
  values: readonly AbiValue[],
): Uint8Array {
  const inputs = artifact.abi.find((item) => item.type === 'constructor')?.inputs ?? []
  return concatBytes(artifact.creationCode, encodeParameters(inputs, values))
}

/** First four bytes of keccak256 of the canonical signature. */
export function functionSelector(signature: string): Uint8Array {
  return keccak256(Buffer.from(signature)).subarray(0, 4)
}

function canonicalType(parameter: AbiParameter): string {
  return parameter.type === 'tuple' ? `(${(parameter.components ?? []).map(canonicalType).join(',')})` : parameter.type
}

function isDynamic({ type, components }: AbiParameter): boolean {
  if (type === 'tuple') return (components ?? []).some(isDynamic)
  return type === 'bytes' || type === 'string'
}

function encodeValue(parameter: AbiParameter, value: AbiValue): Uint8Array {
  const { type } = parameter
  if (type === 'tuple' && Array.isArray(value)) return encodeParameters(parameter.components ?? [], value)
  if (type === 'string' && typeof value === 'string') return encodeDynamic(Buffer.from(value))
  if (type === 'bytes' && (typeof value === 'string' || value instanceof Uint8Array))
    return encodeDynamic(asBytes(value))
  if (type === 'bool' && typeof value === 'boolean') return bigIntToBytes(value ? 1n : 0n, 32)
  if (type === 'address' && typeof value === 'string') return padLeft(fromHex(value, 20, 'address'))
  const fixed = /^bytes(\d+)$/.exec(type)
  if (fixed !== null && (typeof value === 'string' || value instanceof Uint8Array)) {
    const word = new Uint8Array(32)
    const bytes = asBytes(value)
    if (bytes.length !== Number(fixed[1])) throw new DeviumError('abi', `${type} given ${bytes.length} bytes`)
    word.set(bytes)
    return word
  }
  const unsigned = /^uint(\d+)$/.exec(type)
  if (unsigned !== null && (typeof value === 'bigint' || typeof value === 'number')) {
    return padLeft(bigIntToBytes(BigInt(value), Number(unsigned[1]) / 8))
  }
  throw new DeviumError('abi', `cannot encode ${typeof value} as ${type} (${parameter.name ?? 'unnamed'})`)
}

function asBytes(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? fromHex(value) : value
}

/** Length and content, padded to whole words. */
function encodeDynamic(content: Uint8Array): Uint8Array {
  const padding = new Uint8Array((32 - (content.length % 32)) % 32)
  return concatBytes(bigIntToBytes(BigInt(content.length), 32), content, padding)
}

function padLeft(bytes: Uint8Array): Uint8Array {
  const word = new Uint8Array(32)
  word.set(bytes, 32 - bytes.length)
  return word
}
