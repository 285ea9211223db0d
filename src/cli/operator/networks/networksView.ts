import { type Network, REGISTRY_COMMIT, REGISTRY_UPDATE } from '../../../rollup/networks/index.ts'
import { FORKS, type Fork, type RollupConfig } from '../../../rollup/protocol/index.ts'
import { formatTable, type LineWidth } from '../../shared/table.ts'
import { formatTime } from '../../shared/units.ts'

const L1_NAMES = new Map<bigint, string>([
  [1n, 'Ethereum'],
  [11_155_111n, 'Sepolia'],
  [17_000n, 'Holesky'],
  [560_048n, 'Hoodi'],
])

/** One network in `networks list --json`. */
export interface NetworkRow {
  name: string
  chainId: number | string
  l1: string
  l1ChainId: number | string
  /** Seconds. */
  blockTime: number
  /** The newest active fork; null before the first fork. */
  fork: Fork | null
  /** The next scheduled fork. */
  nextFork: { fork: Fork; time: number } | null
  /** Whether the chain reads batches from L1 only. This version supports no other chains. */
  supported: boolean
  dataAvailability: 'l1' | 'alt-da'
  /** Whether upstream's registry has removed the network. */
  leftRegistry: boolean
  /** Date of the registry commit that gave the settings; null for an added network. */
  registryDate: string | null
  /** The file of the config; null for a built-in network. */
  file: string | null
}

export function networkRow(network: Network, nowSeconds: number): NetworkRow {
  const { config, usesAltDa } = network
  return {
    name: network.name,
    chainId: plainNumber(config.l2ChainId),
    l1: L1_NAMES.get(config.l1ChainId) ?? String(config.l1ChainId),
    l1ChainId: plainNumber(config.l1ChainId),
    blockTime: config.blockTime,
    ...forksAt(config, nowSeconds),
    supported: !usesAltDa,
    dataAvailability: usesAltDa ? 'alt-da' : 'l1',
    leftRegistry: network.hasLeftRegistry,
    registryDate: network.path === undefined ? REGISTRY_COMMIT.date : null,
    file: network.path ?? null,
  }
}

/** Formats the networks as a table, the operator's own networks first. */
export function formatNetworks(rows: readonly NetworkRow[], width?: LineWidth): string {
  const sorted = [...rows].sort((a, b) => Number(a.file === null) - Number(b.file === null))
  const table = formatTable(
    ['name', 'chain id', 'L1', 'block time', 'fork', 'note'],
    sorted.map((row) => [
      row.name,
      String(row.chainId),
      row.l1,
      `${row.blockTime} s`,
      row.fork ?? '-',
      [
        ...(row.supported ? [] : ['alt-DA: not supported']),
        ...(row.nextFork === null ? [] : [`${row.nextFork.fork} at ${formatTime(row.nextFork.time * 1000)}`]),
        ...(row.leftRegistry ? ['left the registry'] : []),
        ...(row.file === null ? [] : ['added']),
      ].join(', '),
    ]),
    width,
  )
  const { hash, date } = REGISTRY_COMMIT
  return `${table}\nThe built-in networks come from the superchain registry of ${date} (${hash}), updated to ${REGISTRY_UPDATE}.`
}

function forksAt(config: RollupConfig, nowSeconds: number): Pick<NetworkRow, 'fork' | 'nextFork'> {
  let fork: Fork | null = null
  for (const candidate of FORKS) {
    const time = config.forks[candidate]
    if (time === undefined) continue
    if (time > nowSeconds) return { fork, nextFork: { fork: candidate, time } }
    fork = candidate
  }
  return { fork, nextFork: null }
}

function plainNumber(value: bigint): number | string {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString()
}
