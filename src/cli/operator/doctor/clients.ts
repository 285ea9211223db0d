import { FORKS, type Fork } from '../../../rollup/protocol/index.ts'

/** An execution client, parsed from its version text. */
export interface Client {
  family: 'devium-geth' | 'op-reth' | 'reth' | 'geth' | 'other'
  /** Version numbers; empty if the text has none. */
  version: readonly number[]
}

/** The last op-geth releases support Jovian; there was no release after this date. */
export const OP_GETH_ENDED = '2026-05-31'
/** The first op-reth release that supports Karst. */
const OP_RETH_KARST = [2, 3, 2]

export function clientOf(name: string): Client {
  const version = (/v?(\d+)\.(\d+)\.(\d+)/.exec(name)?.slice(1) ?? []).map(Number)
  if (/devium/i.test(name)) return { family: 'devium-geth', version }
  if (/op-?reth/i.test(name)) return { family: 'op-reth', version }
  if (/\breth/i.test(name)) return { family: 'reth', version }
  if (/\b(op-)?geth|go-ethereum/i.test(name)) return { family: 'geth', version }
  return { family: 'other', version }
}

/** Why releases of this client do not support the fork. `knows`: they support it. Undefined: it is unknown. */
export function judgeRelease({ family, version }: Client, fork: Fork): { knows: true } | { why: string } | undefined {
  const isAfterJovian = FORKS.indexOf(fork) > FORKS.indexOf('jovian')
  if (family === 'geth') {
    return isAfterJovian
      ? { why: `op-geth was discontinued on ${OP_GETH_ENDED}, and no release supports ${fork}` }
      : undefined
  }
  if (fork !== 'karst' && isAfterJovian) return undefined
  // op-reth is built on reth. reth's own version numbers from 2.0 on differ from op-reth's.
  if (family === 'reth' && version[0] !== undefined && version[0] < 2 && isAfterJovian) {
    return { why: `op-reth supports ${fork} since version ${OP_RETH_KARST.join('.')}` }
  }
  if (family !== 'op-reth' || version.length === 0) return undefined
  if (!isBefore(version, OP_RETH_KARST)) return { knows: true }
  return isAfterJovian ? { why: `op-reth supports ${fork} since version ${OP_RETH_KARST.join('.')}` } : undefined
}

/**
 * Whether `eth_call` at a later time uses the rules of that time. reth uses the rules of the head, so its negative answers
 * mean nothing.
 */
export function callsFollowTime({ family }: Client): boolean {
  return family === 'devium-geth' || family === 'geth'
}

function isBefore(version: readonly number[], other: readonly number[]): boolean {
  for (const [index, number] of other.entries()) {
    const own = version[index] ?? 0
    if (own !== number) return own < number
  }
  return false
}
