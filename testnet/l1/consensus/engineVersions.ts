import { type Hex, toHex, toQuantity } from '../../../src/lib/hex.ts'

/** The Engine API methods that build one block. */
export interface EngineMethods {
  forkchoiceUpdated: string
  getPayload: string
  newPayload: string
}

const OSAKA: EngineMethods = {
  forkchoiceUpdated: 'engine_forkchoiceUpdatedV3',
  getPayload: 'engine_getPayloadV5',
  newPayload: 'engine_newPayloadV4',
}
const AMSTERDAM: EngineMethods = {
  forkchoiceUpdated: 'engine_forkchoiceUpdatedV4',
  getPayload: 'engine_getPayloadV6',
  newPayload: 'engine_newPayloadV5',
}

/** An address without a key. */
const FEE_RECIPIENT = toHex(new Uint8Array(20))

/** Time and slot of a block. */
export interface BlockTime {
  /** Unix seconds. */
  timestamp: number
  slot: number
}

/** If `amsterdamTime` is undefined, the fork never activates. */
export function isAmsterdam(timestamp: number, amsterdamTime: number | undefined): boolean {
  return amsterdamTime !== undefined && timestamp >= amsterdamTime
}

/** The methods that an engine accepts for a block of this time. It refuses all other versions. */
export function engineMethods(timestamp: number, amsterdamTime: number | undefined): EngineMethods {
  return isAmsterdam(timestamp, amsterdamTime) ? AMSTERDAM : OSAKA
}

/** PayloadAttributesV3, or V4 (EIP-7843: with the slot's number) from Amsterdam on. */
export function payloadAttributes(
  { timestamp, slot }: BlockTime,
  amsterdamTime: number | undefined,
  random: { prevRandao: Hex; parentBeaconBlockRoot: Hex },
): Record<string, unknown> {
  return {
    timestamp: toQuantity(timestamp),
    ...random,
    suggestedFeeRecipient: FEE_RECIPIENT,
    withdrawals: [],
    ...(isAmsterdam(timestamp, amsterdamTime) ? { slotNumber: toQuantity(slot) } : {}),
  }
}
