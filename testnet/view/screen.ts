import { formatTable } from '../../src/cli/table.ts'
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

/** The live table as lines without colours, cut to the size of the terminal. */
export function renderScreen(state: ScreenState, { columns, rows }: ScreenSize): string[] {
  const { endpoints, status } = state
  const head = [
    `devium testnet   chain ${endpoints.l2.chainId} on L1 ${endpoints.l1.chainId}   up ${duration(state.uptimeSeconds)}`,
    '',
    `L1          block ${status.l1Head ?? '?'}   ${endpoints.l1.rpc}`,
    `last batch  ${submissionText(state)}`,
    `batcher     admin ${endpoints.batcher.adminRpc}   metrics ${endpoints.batcher.metrics}`,
    '',
    ...nodeTable(state),
    '',
  ]
  const foot = ['', `data ${endpoints.dir}   one more node: ${endpoints.joinDir}/join.txt`, 'Ctrl-C stops']
  const accounts = [
    `accounts with 10000 ETH on L1 and L2`,
    ...endpoints.accounts.map(({ name, address, privateKey }) => `${name.padEnd(6)} ${address}  key ${privateKey}`),
  ]
  const room = rows - head.length - foot.length
  const lines = [...head, ...fit(accounts, room), ...foot]
  return lines.slice(0, rows).map((line) => line.slice(0, columns))
}

function nodeTable({ endpoints, status }: ScreenState): string[] {
  const number = (value: number | undefined) => (value === undefined ? '-' : String(value))
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
      node.ethRpc,
      node.rollupRpc,
      node.metrics,
    ]
  })
  const table = formatTable(
    ['node', 'unsafe', 'safe', 'finalized', 'peers', 'mesh', 'eth RPC', 'rollup RPC', 'metrics'],
    rows,
  )
  return table.trimEnd().split('\n')
}

function submissionText({ status: { lastSubmission }, nowSeconds }: ScreenState): string {
  if (lastSubmission === undefined) return 'none yet'
  const { l1Block, bytes, timestamp, transactionHash } = lastSubmission
  return `in L1 block ${l1Block}, ${Math.max(0, nowSeconds - timestamp)} s ago, ${bytes} bytes, ${transactionHash}`
}

/** The first lines that have room, with a note of how many have none. */
function fit(lines: string[], room: number): string[] {
  if (lines.length <= room) return lines
  if (room < 2) return []
  return [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more`]
}

function duration(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  return `${hours > 0 ? `${hours}:` : ''}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}
