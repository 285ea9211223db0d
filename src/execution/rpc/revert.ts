import { JsonRpcError } from '../../jsonRpc/types.ts'
import { bytesToBigInt } from '../../lib/bytes.ts'
import { toHex } from '../../lib/hex.ts'

/** geth's code for a reverted call. `data` is the contract's return data. */
export const RPC_EXECUTION_REVERTED = 3

/** Selectors of Error(string) and Panic(uint256) (Solidity ABI). */
const ERROR_SELECTOR = '0x08c379a0'
const PANIC_SELECTOR = '0x4e487b71'

/** Solidity's panic codes with geth's messages (`accounts/abi`). */
const PANIC_REASONS: Readonly<Record<string, string>> = {
  '0x0': 'generic panic',
  '0x1': 'assert(false)',
  '0x11': 'arithmetic underflow or overflow',
  '0x12': 'division or modulo by zero',
  '0x21': 'enum overflow',
  '0x22': 'invalid encoded storage byte array accessed',
  '0x31': 'out-of-bounds array access; popping on an empty array',
  '0x32': 'out-of-bounds access of an array or bytesN',
  '0x41': 'out of memory',
  '0x51': 'uninitialized function',
}

export function revertError(returnData: Uint8Array): JsonRpcError {
  const reason = revertReason(returnData)
  const message = reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`
  return new JsonRpcError(RPC_EXECUTION_REVERTED, message, { data: toHex(returnData) })
}

/** The reason in the return data, in one of Solidity's two forms. */
export function revertReason(returnData: Uint8Array): string | undefined {
  const selector = toHex(returnData.subarray(0, 4))
  const body = returnData.subarray(4)
  if (selector === PANIC_SELECTOR && body.length >= 32) {
    const code = `0x${bytesToBigInt(body.subarray(0, 32)).toString(16)}`
    return PANIC_REASONS[code] ?? `unknown panic code: ${code}`
  }
  if (selector !== ERROR_SELECTOR || body.length < 64) return undefined
  const offset = bytesToBigInt(body.subarray(0, 32))
  if (offset + 32n > BigInt(body.length)) return undefined
  const start = Number(offset) + 32
  const length = bytesToBigInt(body.subarray(start - 32, start))
  if (BigInt(start) + length > BigInt(body.length)) return undefined
  return Buffer.from(body.subarray(start, start + Number(length))).toString('utf8')
}
