import type { RpcClient } from '../../../jsonRpc/client.ts'
import { toQuantity } from '../../../lib/hex.ts'
import { isObject } from '../../../lib/jsonReader.ts'
import type { Fork } from '../../../rollup/protocol/index.ts'
import { orUndefined } from './orUndefined.ts'

interface Probe {
  call: { to?: string; data: string }
  /** The call's result under the rules of the fork, and under no earlier rules. */
  result: string
}

const WORD = (value: string) => `0x${value.padStart(64, '0')}`
/** MSTORE of the stack's top at 0, and RETURN of that word; 5f is PUSH0. */
const RETURN_TOP = '5f5260205ff3'
const BLS_G1ADD = `0x${'0b'.padStart(40, '0')}`

/** Calls whose results show whether a fork is active. Forks without an EVM change have none. */
const PROBES: Partial<Record<Fork, Probe>> = {
  // PUSH0 (EIP-3855).
  canyon: { call: { data: `0x6001${RETURN_TOP}` }, result: WORD('1') },
  // MCOPY (EIP-5656) of zero bytes.
  ecotone: { call: { data: `0x5f5f5f5e6001${RETURN_TOP}` }, result: WORD('1') },
  // The sum of two points at infinity (EIP-2537).
  isthmus: { call: { to: BLS_G1ADD, data: `0x${'00'.repeat(256)}` }, result: `0x${'00'.repeat(128)}` },
  // CLZ (EIP-7939) of 1.
  karst: { call: { data: `0x60011e${RETURN_TOP}` }, result: WORD('ff') },
}

/** Whether a call at `time` runs under the fork's rules. Undefined if the call cannot show it. Changes no state. */
export async function probeFork(
  rpc: Pick<RpcClient, 'request'>,
  fork: Fork,
  time: number,
): Promise<boolean | undefined> {
  if (fork === 'lagoon') return saysLagoon(rpc, time)
  // A failed call has no result. A failed endpoint proves nothing.
  const run = (call: object): Promise<unknown> =>
    orUndefined(rpc.request('eth_call', [call, 'latest', {}, { time: toQuantity(time) }]))
  const probe = PROBES[fork]
  if (probe === undefined) return undefined
  // This call returns the block's time. If the engine cannot run it at `time`, other calls prove nothing about forks.
  if ((await run({ data: '0x4260005260206000f3' })) !== WORD(time.toString(16))) return undefined
  return (await run(probe.call)) === probe.result
}

/** Lagoon does not change the EVM. devium-geth and op-reth report whether Lagoon's gas refunds hold at a time. */
async function saysLagoon(rpc: Pick<RpcClient, 'request'>, time: number): Promise<boolean | undefined> {
  const status = await orUndefined(rpc.request('admin_sdmStatus', [time]))
  return isObject(status) && typeof status.protocolActive === 'boolean' ? status.protocolActive : undefined
}
