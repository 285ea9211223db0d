import { typedCommand } from '../../src/cli/operator/status/verdictView.ts'
import { formatTable, plainText, wrapText } from '../../src/cli/shared/table.ts'
import type { ScreenSize } from '../../src/cli/shared/terminal/fullScreen.ts'
import { cutLine, type Line } from '../../src/cli/shared/terminal/styledLine.ts'
import { formatSeconds } from '../../src/cli/shared/units.ts'
import { clientSuffix } from '../clients/clients.ts'
import { forkName } from '../forks.ts'
import type { Ending } from '../process/managedProcess.ts'
import { contractLines } from '../runner/addresses.ts'
import type { Endpoints } from '../runner/events.ts'
import type { NodeStatus, TestnetStatus } from '../runner/status.ts'
import type { PromptState } from './commandPrompt.ts'

/** A program that exited unexpectedly. */
export interface EndedProgram extends Ending {
  program: string
  atMs: number
}

export interface ScreenState {
  endpoints: Endpoints
  status: TestnetStatus
  ended: readonly EndedProgram[]
  /** Absent if there is no keyboard. */
  prompt?: PromptState | undefined
  /** The result of the last key. */
  notice: string | undefined
  uptimeSeconds: number
  nowMs: number
}

/** Renders the live table for the terminal's size. Cut lines end in `…`. */
export function renderScreen(state: ScreenState, { columns, rows }: ScreenSize): Line[] {
  const { endpoints, status } = state
  const title = `devium testnet   ${forkNow(state)}   chain ${endpoints.l2.chainId} on L1 ${endpoints.l1.chainId}   up ${duration(state.uptimeSeconds)}`
  const head: Line[] = [
    [{ text: title, style: 'bold' }],
    '',
    `dashboard   ${endpoints.dashboard}`,
    ...(endpoints.tokenFile === undefined ? [] : [`token       ${endpoints.tokenFile}, for what changes something`]),
    `L1          block ${status.l1Head ?? '?'}   ${endpoints.l1.rpc}`,
    `last batch  ${submissionText(state)}`,
    `last output ${outputText(status)}`,
    `batcher     admin ${endpoints.batcher.adminRpc}  metrics ${endpoints.batcher.metrics}`,
    '',
    ...nodeTable(state, columns),
    ...verdictLines(state, columns),
    ...endedLines(state),
    '',
  ]
  const foot: Line[] = [
    '',
    `data           ${endpoints.dir}`,
    `contracts      ${endpoints.addressesFile}`,
    `one more node  npx devium testnet join ${endpoints.joinUrl}`,
    `look at it     npx devium watch --rpc ${endpoints.nodes[0]?.rollupRpc ?? ''}`,
    ...bottomLines(state, columns),
  ]
  const room = rows - head.length - foot.length
  const accounts = accountLines(endpoints, columns, room)
  const contracts = ['', 'contracts on L1', ...contractLines(endpoints)]
  // All contracts or none. The footer names the file that has them all.
  const shown = contracts.length <= room - accounts.length ? contracts : []
  const lines = [...head, ...accounts, ...shown, ...foot]
  // The footer keeps at least the command results and the keys.
  const bottom = bottomLines(state, columns).slice(-rows)
  const kept = lines.length <= rows ? lines : [...lines.slice(0, rows - bottom.length), ...bottom]
  return kept.slice(0, rows).map((line) => cutLine(line, columns))
}

/** The causes of unhealthy nodes, and the commands that help. */
function verdictLines({ endpoints, status }: ScreenState, columns: number): Line[] {
  const [sequencer] = endpoints.nodes
  return status.nodes.flatMap(({ health }, index): Line[] => {
    if (health === undefined || health.state === 'healthy') return []
    const rpc = endpoints.nodes[index]?.rollupRpc
    const command = health.causes[0]?.command ?? undefined
    const style = health.state === 'stopped' ? 'bad' : 'notable'
    return [
      ...wrapText(plainText(health.text), columns, 0)
        .split('\n')
        .map((text): Line => [{ text, style }]),
      ...(command === undefined ? [] : [`  → npx ${typedCommand(command, rpc, sequencer?.rollupRpc)}`]),
    ]
  })
}

/** The ended programs: time, exit reason, and the cause from the log. */
function endedLines({ ended, nowMs }: ScreenState): Line[] {
  return ended.flatMap(({ program, how, log, lastLines, atMs }): Line[] => [
    '',
    [{ text: `${program} ended ${formatSeconds((nowMs - atMs) / 1000)} ago with ${how}`, style: 'bad' }, `   ${log}`],
    // The last line usually has the cause.
    ...lastLines.slice(-1).map((line) => `  ${plainText(line)}`),
  ])
}

/** The result of the last command, and the available keys. */
function bottomLines(state: ScreenState, columns: number): Line[] {
  const answer = (state.prompt?.answer ?? []).flatMap((text) => wrapText(plainText(text), columns, 0).split('\n'))
  return [...answer.map((text): Line => [{ text, style: 'notable' }]), keysLine(state)]
}

function keysLine({ ended, notice, prompt }: ScreenState): Line {
  if (prompt?.input !== undefined) return [`: ${prompt.input}_`, { text: '   Enter runs it, Esc leaves', style: 'dim' }]
  const keys = [
    ...(prompt === undefined ? [] : [': takes a command']),
    ...(ended.length === 0 ? [] : ['r starts again what has ended']),
    'Ctrl-C stops',
  ].join('   ')
  return notice === undefined ? keys : [`${keys}   `, { text: plainText(notice), style: 'notable' }]
}

/** `Jovian`, or `Jovian (Karst in 40 s)`. */
function forkNow({ endpoints, status, nowMs }: ScreenState): string {
  const { active, next } = status.fork ?? { active: endpoints.l2.forks.genesis }
  if (next === undefined) return forkName(active)
  return `${forkName(active)} (${forkName(next.fork)} in ${Math.max(0, next.time - Math.floor(nowMs / 1000))} s)`
}

/** Shows whole addresses, or only ports on a narrow terminal. */
function nodeTable({ endpoints, status }: ScreenState, columns: number): string[] {
  const number = (value: number | undefined) => (value === undefined ? '-' : String(value))
  const table = (address: (url: string) => string, final: string, eth: string, rollup: string): string[] => {
    const rows = endpoints.nodes.map((node, index) => {
      const known: NodeStatus = status.nodes[index] ?? { name: node.name }
      return [
        `${node.name}${clientSuffix(node.clients)}`,
        known.unsafe === undefined ? 'no answer' : (known.health?.state ?? '-'),
        number(known.unsafe?.number),
        number(known.safe?.number),
        number(known.finalized?.number),
        number(known.peers),
        number(known.mesh),
        address(node.ethRpc),
        address(node.rollupRpc),
        address(node.metrics),
      ]
    })
    const header = ['node', 'state', 'unsafe', 'safe', final, 'peers', 'mesh', eth, rollup, 'metrics']
    return formatTable(header, rows).trimEnd().split('\n')
  }
  const whole = table((url) => url, 'finalized', 'eth RPC', 'rollup RPC')
  if (whole.every((line) => line.length <= columns)) return whole
  return table((url) => `:${new URL(url).port}`, 'final', 'eth', 'rollup')
}

/** The accounts that fit, and the number of hidden ones. Keys are never cut, because a cut key looks like another key. */
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

function outputText({ lastOutput }: TestnetStatus): string {
  return lastOutput === undefined ? 'none yet' : `of L2 block ${lastOutput}: withdrawals up to it can be proven`
}

function submissionText({ status: { lastSubmission }, nowMs }: ScreenState): string {
  if (lastSubmission === undefined) return 'none yet'
  const { l1Block, bytes, blobs, timestamp, transactionHash } = lastSubmission
  const size = blobs === 0 ? `${bytes} bytes` : blobs === 1 ? '1 blob' : `${blobs} blobs`
  return `in L1 block ${l1Block}, ${Math.max(0, Math.floor(nowMs / 1000) - timestamp)} s ago, ${size}, ${transactionHash}`
}

function duration(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  return `${hours > 0 ? `${hours}:` : ''}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}
