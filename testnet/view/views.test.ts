import { describe, expect, it } from 'vitest'
import type { ScreenSize } from '../../src/cli/shared/terminal/fullScreen.ts'
import type { Key } from '../../src/cli/shared/terminal/keys.ts'
import { textOf } from '../../src/cli/shared/terminal/styledLine.ts'
import { checksumAddress } from '../../src/lib/checksumAddress.ts'
import { UsageError } from '../../src/lib/errors.ts'
import { devAccounts, roles } from '../accounts.ts'
import { l1Addresses } from '../l1/contracts.ts'
import type { Endpoints, TestnetEvent } from '../runner/events.ts'
import type { TestnetStatus } from '../runner/status.ts'
import { createJsonView } from './jsonView.ts'
import { createLiveView } from './liveView.ts'
import { plainLines } from './plainView.ts'
import { renderScreen as renderLines, type ScreenState } from './screen.ts'

const hash = `0x${'ab'.repeat(32)}` as const
const endpoints: Endpoints = {
  dashboard: 'http://127.0.0.1:9510/dashboard',
  dir: '/data/net',
  l1: {
    rpc: 'http://127.0.0.1:9500',
    beacon: 'http://127.0.0.1:9504',
    chainId: 900,
    blockTime: 2,
    contracts: l1Addresses(roles.owner.address),
  },
  l2: {
    chainId: 901,
    blockTime: 1,
    genesisTime: 900,
    forks: { genesis: 'jovian', later: [{ fork: 'karst', time: 1_020 }] },
  },
  nodes: ['sequencer', 'verifier1'].map((name, index) => ({
    name,
    rollupRpc: `http://127.0.0.1:95${index + 1}0`,
    ethRpc: `http://127.0.0.1:95${index + 1}1`,
    ethWs: `ws://127.0.0.1:95${index + 1}1`,
    engineRpc: `http://127.0.0.1:95${index + 1}2`,
    metrics: `http://127.0.0.1:95${index + 1}3/metrics`,
    gethMetrics: `http://127.0.0.1:95${index + 1}5/metrics`,
    p2p: `/ip4/127.0.0.1/tcp/95${index + 1}4/p2p/16U${index}`,
    peerId: `16U${index}`,
    jwt: `/data/net/${name}/jwt.txt`,
  })),
  batcher: {
    adminRpc: 'http://127.0.0.1:9501',
    metrics: 'http://127.0.0.1:9502/metrics',
    address: roles.batcher.address,
  },
  accounts: [...devAccounts],
  addressesFile: '/data/net/addresses.json',
  joinUrl: 'http://127.0.0.1:9505',
  joinDir: '/data/net/join',
}
const status: TestnetStatus = {
  l1Head: 42,
  fork: { active: 'jovian', next: { fork: 'karst', time: 1_020 } },
  nodes: [
    {
      name: 'sequencer',
      health: { state: 'healthy', text: 'Sequencer is healthy.', causes: [] },
      unsafe: { number: 80, hash },
      safe: { number: 76, hash },
      finalized: { number: 60, hash },
      peers: 2,
      mesh: 1,
    },
    { name: 'verifier1' },
  ],
  lastSubmission: { l1Block: 41, timestamp: 1_000, transactionHash: hash, bytes: 1_234, blobs: 0 },
  lastOutput: 72,
}
const ready: TestnetEvent = {
  event: 'ready',
  seconds: 5.25,
  milestones: [
    { what: 'genesis', seconds: 0.4 },
    { what: 'safe on all nodes', seconds: 5.2 },
  ],
  safeHeight: 3,
  ...endpoints,
}

/** A terminal that records what is written. */
function fakeTerminal(columns: number, rows: number) {
  const listeners = new Set<() => void>()
  const terminal = {
    written: '',
    columns,
    rows,
    write(text: string) {
      terminal.written += text
    },
    on: (_: 'resize', listener: () => void) => listeners.add(listener),
    off: (_: 'resize', listener: () => void) => listeners.delete(listener),
    resize(newColumns: number, newRows: number) {
      Object.assign(terminal, { columns: newColumns, rows: newRows, written: '' })
      for (const listener of listeners) listener()
    },
    listeners,
  }
  return terminal
}

describe('screen', () => {
  const state = { endpoints, status, ended: [], notice: undefined, uptimeSeconds: 3_723, nowMs: 1_003_900 }
  const renderScreen = (given: ScreenState, size: ScreenSize) => renderLines(given, size).map(textOf)

  it('shows heads, peers, L1, the last batch, URLs and accounts', () => {
    const text = renderScreen(state, { columns: 200, rows: 50 }).join('\n')
    expect(text).toContain('devium testnet   Jovian (Karst in 17 s)   chain 901 on L1 900   up 1:02:03')
    expect(text).toMatch(/L1 +block 42 +http:\/\/127.0.0.1:9500/)
    expect(text).toContain(`in L1 block 41, 3 s ago, 1234 bytes, ${hash}`)
    expect(text).toMatch(
      /sequencer +healthy +80 +76 +60 +2 +1 +http:\/\/127.0.0.1:9511 +http:\/\/127.0.0.1:9510 +http:\/\/127.0.0.1:9513\/metrics/,
    )
    const blobs = {
      ...status,
      lastSubmission: { l1Block: 41, timestamp: 1_000, transactionHash: hash, bytes: 0, blobs: 2 },
    }
    expect(renderScreen({ ...state, status: blobs }, { columns: 200, rows: 50 }).join('\n')).toContain(
      'ago, 2 blobs, 0x',
    )
    expect(text).toMatch(/verifier1 +no answer +- +- +- +-/)
    for (const { address, privateKey } of devAccounts) expect(text).toContain(`${address} key ${privateKey}`)
    expect(text).toContain('last output of L2 block 72: withdrawals up to it can be proven')
    expect(text).toContain(`OptimismPortal          ${checksumAddress(endpoints.l1.contracts.OptimismPortal)}\n`)
    expect(text).toContain('contracts      /data/net/addresses.json')
  })

  it('shows why a node is not healthy, and the command that helps', () => {
    const text = 'Sequencer is stopped. An operator has stopped the sequencer.'
    const causes = [{ code: 'sequencer-stopped', text: 'It is stopped.', command: 'devium sequencer start' }]
    const [first, ...others] = status.nodes
    if (first === undefined) throw new Error('no node')
    const health = { state: 'stopped', text, causes } as const
    const given = { ...state, status: { ...status, nodes: [{ ...first, health }, ...others] } }
    const lines = renderScreen(given, { columns: 200, rows: 50 })
    expect(lines.find((line) => line.startsWith('sequencer '))).toMatch(/^sequencer +stopped +80 +76 +60 /)
    const index = lines.indexOf(text)
    expect(lines[index + 1]).toBe('  → npx devium sequencer start --rpc http://127.0.0.1:9510')
    expect(plainLines({ event: 'status', ...given.status })[0]).toContain('| sequencer stopped unsafe 80 ')
  })

  for (const [columns, rows] of [
    [80, 24],
    [40, 10],
    [20, 3],
    [1, 1],
  ] as const) {
    it(`fits ${columns} columns and ${rows} rows`, () => {
      const lines = renderScreen(state, { columns, rows })
      expect(lines.length).toBeLessThanOrEqual(rows)
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
    })
  }

  it('shows ended programs, their exit reason and the last line of their log', () => {
    const [program, how, log] = ['verifier1-node', 'exit code 1', '/data/net/logs/verifier1-node.log']
    const ended = [{ program, how, log, lastLines: ['devium--batcher: no engine\x1b[2J'], atMs: 1_001_900 }]
    const lines = renderScreen({ ...state, ended }, { columns: 160, rows: 50 })
    const index = lines.indexOf(`verifier1-node ended 2 s ago with exit code 1   ${log}`)
    expect(lines[index + 1]).toBe('  devium--batcher: no engine?[2J')
    expect(lines.at(-1)).toBe('r starts again what has ended   Ctrl-C stops')
    // A small screen hides other lines before the keys.
    const small = renderScreen({ ...state, ended }, { columns: 80, rows: 14 })
    expect(small).toHaveLength(14)
    expect(small.at(-1)).toMatch(/^r starts again/)
    expect(renderScreen(state, { columns: 80, rows: 24 }).at(-1)).toBe('Ctrl-C stops')
  })

  it('shows the number of hidden accounts', () => {
    expect(renderScreen(state, { columns: 120, rows: 22 }).join('\n')).toMatch(/… \d+ more/)
  })

  it('shows only ports on a narrow terminal, and never a part of a key', () => {
    for (const columns of [80, 120]) {
      const lines = renderScreen(state, { columns, rows: 50 })
      expect(lines.find((line) => line.startsWith('sequencer'))).toMatch(/:9511 +:9510 +:9513$/)
      for (const { privateKey } of devAccounts) expect(lines.join('\n')).toContain(privateKey)
      for (const line of lines.filter((line) => !line.startsWith('last batch'))) expect(line).not.toMatch(/…$/)
    }
    expect(renderScreen(state, { columns: 70, rows: 50 }).join('\n')).not.toContain('accounts')
  })
})

describe('live view', () => {
  it('redraws on the alternate screen, follows the size, and restores the terminal', () => {
    const terminal = fakeTerminal(100, 30)
    const view = createLiveView({ terminal, now: () => 1_000_000, isColoured: false })
    view.handle({ event: 'progress', what: 'genesis', seconds: 0.4 })
    expect(terminal.written).toBe('   0.40 s  genesis\n')
    view.handle(ready)
    expect(terminal.written).toContain('\x1b[?1049h')
    terminal.written = ''
    view.handle({ event: 'status', ...status })
    expect(terminal.written.startsWith('\x1b[?2026h\x1b[H')).toBe(true)
    expect(terminal.written).not.toContain('\x1b[2J')
    terminal.resize(30, 5)
    const rows = terminal.written.split('\r\n')
    expect(rows).toHaveLength(5)
    view.handle({ event: 'stopping', reason: 'received SIGINT' })
    expect(terminal.written).toContain('\x1b[?1049l')
    expect(terminal.listeners.size).toBe(0)
    terminal.written = ''
    view.handle({ event: 'status', ...status })
    view.close()
    expect(terminal.written).toBe('')
  })
})

describe('keys of the live view', () => {
  const ended: TestnetEvent = {
    ...{ event: 'ended', program: 'batcher', how: 'signal SIGKILL', log: '/data/net/logs/batcher.log' },
    lastLines: ['one', 'two'],
  }
  it('restart ended programs, and pass on Ctrl-C, while the table is shown', () => {
    const terminal = fakeTerminal(100, 40)
    let nowMs = 1_000_000
    let press = (_: Key) => {}
    const done: string[] = []
    const controls = {
      listen(onKey: (key: Key) => void) {
        press = onKey
        return () => done.push('no keys any more')
      },
      startAgain: () => done.push('start again'),
      run: (line: string) => Promise.reject(new Error(line)),
      interrupt: () => done.push('interrupt'),
    }
    const view = createLiveView({ terminal, now: () => nowMs, isColoured: false, controls })
    view.handle(ready)
    view.handle(ended)
    expect(terminal.written).toContain('batcher ended 0 s ago with signal SIGKILL')
    expect(terminal.written).toMatch(/ {2}two[\s\S]*r starts again what has ended/)
    press('x')
    press('r')
    terminal.written = ''
    view.handle({ event: 'started-again', program: 'batcher' })
    expect(terminal.written).not.toContain('ended 0 s ago')
    expect(terminal.written).toContain('batcher was started again')
    view.handle({ event: 'warning', message: 'l1: its chain is lost' })
    expect(terminal.written).toContain('Ctrl-C stops   batcher was started again, l1: its chain is lost')
    nowMs += 10_000
    terminal.written = ''
    view.handle({ event: 'status', ...status })
    expect(terminal.written).toMatch(/Ctrl-C stops(?! )/)
    press('interrupt')
    view.handle({ event: 'stopping', reason: 'received SIGINT' })
    expect(done).toEqual(['start again', 'interrupt', 'no keys any more'])
  })

  it('type a command after a colon, and show its result', async () => {
    const terminal = fakeTerminal(100, 40)
    let press = (_: Key) => {}
    const controls = {
      listen(onKey: (key: Key) => void) {
        press = onKey
        return () => {}
      },
      startAgain: () => expect.unreachable(),
      interrupt: () => expect.unreachable(),
      run: async (line: string) => {
        if (line !== 'stop l1') throw new UsageError(`unknown command "${line}"`)
        return { command: line, did: 'l1 stopped.', lookAt: 'Safe heads wait for L1.' }
      },
    }
    const shown = async (text: string) => {
      await expect.poll(() => terminal.written).toContain(text)
      terminal.written = ''
    }
    const type = (text: string) => [...text].forEach(press)
    const view = createLiveView({ terminal, now: () => 1_000_000, isColoured: false, controls })
    view.handle(ready)
    await shown(': takes a command   Ctrl-C stops')
    type(':ster')
    press('backspace')
    await shown(': ste_')
    press('enter')
    await shown('unknown command "ste"')
    type(':')
    press('up')
    press('backspace')
    type('op l1')
    press('enter')
    await shown('Safe heads wait for L1.')
    expect(plainLines({ event: 'command', command: 'stop l1', did: 'l1 stopped.', lookAt: 'Look.' })).toEqual([
      '  stop l1: l1 stopped.',
      '    Look.',
    ])
    type(':r')
    press('escape')
    await shown(': takes a command')
  })

  it('print one line each in the plain view', () => {
    expect(plainLines(ended)).toEqual([
      '  batcher ended with signal SIGKILL; the others go on. The last lines of /data/net/logs/batcher.log:',
      '    one',
      '    two',
    ])
    expect(plainLines({ event: 'started-again', program: 'batcher' })).toEqual(['  batcher was started again'])
  })
})

describe('plain and JSON views', () => {
  it('report readiness, and the time of each phase', () => {
    const lines = plainLines(ready)
    expect(lines[0]).toBe('ready after 5.3 s: all nodes share safe block 3')
    expect(lines[1]).toBe('  (genesis 0.4 s, safe on all nodes 5.2 s)')
    expect(lines.join('\n')).toContain('/data/net/join/join.txt')
    expect(lines.join('\n')).toMatch(/fork +Jovian, Karst at \d\d:\d\d:00/)
  })

  it('report a fork', () => {
    expect(plainLines({ event: 'fork', fork: 'karst', block: 120 })).toEqual(['  Karst is active from L2 block 120 on'])
  })

  it('put a status on one line', () => {
    expect(plainLines({ event: 'status', ...status })).toEqual([
      'l1 42 | jovian | last batch in l1 41 | last output 72 | sequencer unsafe 80 safe 76 finalized 60 peers 2 | verifier1 does not answer',
    ])
  })

  it('print one JSON object a line', () => {
    let written = ''
    const view = createJsonView({ write: (text: string) => (written += text) })
    view.handle(ready)
    view.handle({ event: 'stopped' })
    const [first, second] = written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(first).toMatchObject({
      event: 'ready',
      dir: '/data/net',
      l1: { rpc: 'http://127.0.0.1:9500' },
      batcher: { adminRpc: 'http://127.0.0.1:9501' },
    })
    expect(Object.keys(first.nodes[0])).toEqual(
      expect.arrayContaining(['name', 'rollupRpc', 'ethRpc', 'engineRpc', 'metrics', 'p2p', 'peerId', 'jwt']),
    )
    expect(second).toEqual({ event: 'stopped' })
  })
})
