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

/** Calls by whose results a fork shows; forks that change nothing of the EVM have none. */
const PROBES: Partial<Record<Fork, Probe>> = {
  // PUSH0 (EIP-3855).
  canyon: { call: { data: `0x6001${RETURN_TOP}` }, result: WORD('1') },
  // MCOPY (EIP-5656) of nothing.
  ecotone: { call: { data: `0x5f5f5f5e6001${RETURN_TOP}` }, result: WORD('1') },
  // The sum of two points at infinity (EIP-2537).
  isthmus: { call: { to: BLS_G1ADD, data: `0x${'00'.repeat(256)}` }, result: `0x${'00'.repeat(128)}` },
  // CLZ (EIP-7939) of one.
  karst: { call: { data: `0x60011e${RETURN_TOP}` }, result: WORD('ff') },
}

/** Whether a call at `time` runs under the fork's rules; undefined where that cannot be seen. Changes nothing. */
export async function probeFork(
  rpc: Pick<RpcClient, 'request'>,
  fork: Fork,
  time: number,
): Promise<boolean | undefined> {
  if (fork === 'lagoon') return saysLagoon(rpc, time)
  // A call that fails has no result; an endpoint that fails tells nothing.
  const run = (call: object): Promise<unknown> =>
    orUndefined(rpc.request('eth_call', [call, 'latest', {}, { time: toQuantity(time) }]))
  const probe = PROBES[fork]
  if (probe === undefined) return undefined
  // An engine that takes no such call at all, here one that returns the time, tells nothing of forks.
  if ((await run({ data: '0x4260005260206000f3' })) !== WORD(time.toString(16))) return undefined
  return (await run(probe.call)) === probe.result
}

/** Lagoon changes nothing of the EVM. Clients that know it say whether its gas refunds hold at a time (devium-geth, op-reth). */
async function saysLagoon(rpc: Pick<RpcClient, 'request'>, time: number): Promise<boolean | undefined> {
  const status = await orUndefined(rpc.request('admin_sdmStatus', [time]))
  return isObject(status) && typeof status.protocolActive === 'boolean' ? status.protocolActive : undefined
}
