import { formatTable } from '../../src/cli/table.ts'
import { forkName } from '../forks.ts'
import type { Endpoints } from '../runner/events.ts'
import type { NodeStatus, TestnetStatus } from '../runner/status.ts'

export interface ScreenState {
  endpoints: Endpoints
  status: TestnetStatus
  uptimeSeconds: number
  nowSeconds: number
}

export interface ScreenSize {
  columns: number
  rows: number
}

/** The live table as lines without colours, made to fit the terminal; what still does not fit ends in `…`. */
export function renderScreen(state: ScreenState, { columns, rows }: ScreenSize): string[] {
  const { endpoints, status } = state
  const head = [
    `devium testnet   ${forkNow(state)}   chain ${endpoints.l2.chainId} on L1 ${endpoints.l1.chainId}   up ${duration(state.uptimeSeconds)}`,
    '',
    `dashboard   ${endpoints.dashboard}`,
    `L1          block ${status.l1Head ?? '?'}   ${endpoints.l1.rpc}`,
    `last batch  ${submissionText(state)}`,
    `batcher     admin ${endpoints.batcher.adminRpc}  metrics ${endpoints.batcher.metrics}`,
    '',
    ...nodeTable(state, columns),
    '',
  ]
  const foot = [
    '',
    `data           ${endpoints.dir}`,
    `one more node  ${endpoints.joinDir}/join.txt`,
    `look at it     npx devium status --rpc ${endpoints.nodes[0]?.rollupRpc ?? ''}`,
    'Ctrl-C stops',
  ]
  const room = rows - head.length - foot.length
  const lines = [...head, ...accountLines(endpoints, columns, room), ...foot]
  return lines.slice(0, rows).map((line) => cut(line, columns))
}

/** `Jovian`, or `Jovian (Karst in 40 s)`. */
function forkNow({ endpoints, status, nowSeconds }: ScreenState): string {
  const { active, next } = status.fork ?? { active: endpoints.l2.forks.genesis }
  if (next === undefined) return forkName(active)
  return `${forkName(active)} (${forkName(next.fork)} in ${Math.max(0, next.time - nowSeconds)} s)`
}

/** Addresses are whole, or only the ports where there is no room for them. */
function nodeTable({ endpoints, status }: ScreenState, columns: number): string[] {
  const number = (value: number | undefined) => (value === undefined ? '-' : String(value))
  const table = (address: (url: string) => string): string[] => {
    const rows = endpoints.nodes.map((node, index) => {
      const known: NodeStatus = status.nodes[index] ?? { name: node.name }
      const state = known.unsafe === undefined ? 'no answer' : number(known.unsafe.number)
      return [
        node.name,
        state,
        number(known.safe?.number),
        number(known.finalized?.number),
        number(known.peers),
        number(known.mesh),
        address(node.ethRpc),
        address(node.rollupRpc),
        address(node.metrics),
      ]
    })
    const header = ['node', 'unsafe', 'safe', 'finalized', 'peers', 'mesh', 'eth RPC', 'rollup RPC', 'metrics']
    return formatTable(header, rows).trimEnd().split('\n')
  }
  const whole = table((url) => url)
  if (whole.every((line) => line.length <= columns)) return whole
  return table((url) => `:${new URL(url).port}`)
}

/** Those that have room, with a note of how many have none. A key is never cut: it would be another one. */
function accountLines({ accounts }: Endpoints, columns: number, room: number): string[] {
  const oneLine = accounts.map(({ name, address, privateKey }) => [`${name.padEnd(6)} ${address} key ${privateKey}`])
  const twoLines = accounts.map(({ name, address, privateKey }) => [
    `${name.padEnd(6)} ${address}`,
    `${' '.repeat(7)}${privateKey}`,
  ])
  const fits = [oneLine, twoLines].find((entries) => entries.flat().every((line) => line.length <= columns))
  const [first] = fits ?? []
  if (fits === undefined || first === undefined) return []
  const lines = ['accounts with 10000 ETH on L1 and L2, and their keys', ...fits.flat()]
  if (lines.length <= room) return lines
  const shown = Math.floor((room - 2) / first.length)
  if (shown < 1) return []
  return [...lines.slice(0, 1 + shown * first.length), `… ${accounts.length - shown} more`]
}

function cut(line: string, columns: number): string {
  return line.length <= columns ? line : `${line.slice(0, columns - 1)}…`
}

function submissionText({ status: { lastSubmission }, nowSeconds }: ScreenState): string {
  if (lastSubmission === undefined) return 'none yet'
  const { l1Block, bytes, blobs, timestamp, transactionHash } = lastSubmission
  const size = blobs === 0 ? `${bytes} bytes` : blobs === 1 ? '1 blob' : `${blobs} blobs`
  return `in L1 block ${l1Block}, ${Math.max(0, nowSeconds - timestamp)} s ago, ${size}, ${transactionHash}`
}

function duration(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  return `${hours > 0 ? `${hours}:` : ''}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}
