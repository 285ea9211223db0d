import { execFile, spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startTcpProxy } from '../../../../testnet/links/tcpProxy.ts'
import { createRpcApp, serveApp } from '../../../jsonRpc/httpServer.ts'
import { ManualClock, systemClock } from '../../../lib/clock.ts'
import { silentLogger } from '../../../lib/logger.ts'
import { createNodeClient } from '../../../rpc/client/index.ts'
import { createRollupRpc, LIVE_NOTIFICATION } from '../../../rpc/index.ts'
import { RECORD, recorder } from '../../../rpc/testUtils/recorder.ts'
import { scoreReport } from '../../testUtils/peerAnswers.ts'
import { watchNode } from './watchNode.ts'

const SCRIPT = fileURLToPath(new URL('../../../../bin/devium.mjs', import.meta.url))
const ESCAPE = '\x1b'
const SEQUENCES = new RegExp(`${ESCAPE}\\[[?\\d]*[A-Za-z]`, 'g')
const ENTER = '\x1b[?1049h'
const LEAVE = '\x1b[?1049l'

/** A rollup node with one peer, which can be cut off. */
async function serve() {
  const { node, p2p, calls, listeners } = recorder()
  p2p.peers = async () => ({
    ...{ totalConnected: 1, bannedPeers: [], bannedIPS: [], bannedSubnets: [], timeBans: [] },
    peers: { [RECORD.peerID]: { ...RECORD, connectedness: 1, direction: 1, userAgent: 'agent\x1b[31m' } },
  })
  p2p.peerScore = async () => [scoreReport({ peerID: RECORD.peerID, mainReason: 'false blocks' })]
  p2p.peerHistory = async () => [{ peerID: RECORD.peerID, events: [] }]
  const health = await p2p.health()
  p2p.health = async () => ({ ...health, text: 'Nobody is connected.' })
  p2p.listBlockedPeers = async () => []
  p2p.bans = async () => []
  const modules = { node, p2p, clock: new ManualClock(), logger: { ...silentLogger, setLevel: () => {} } }
  const { dispatcher } = createRollupRpc(modules, { version: 'v1', enableAdmin: false })
  const webSockets = { dispatcher, allowedOrigins: [], notification: LIVE_NOTIFICATION }
  const server = await serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test', { webSockets })
  onTestFinished(() => server.close())
  const link = await startTcpProxy(Number(new URL(server.url).port))
  onTestFinished(() => link.close())
  return { url: `http://127.0.0.1:${link.port}`, calls, listeners, link }
}

/** A terminal of 100 columns and 30 rows that records its output, and a keyboard. */
function fakeTerminal() {
  const output = new EventEmitter()
  const keys = new EventEmitter()
  const modes: boolean[] = []
  let written = ''
  const terminal = Object.assign(output, { columns: 100, rows: 30, write: (text: string) => (written += text) })
  const keyboard = Object.assign(keys, {
    setRawMode: (isRaw: boolean) => modes.push(isRaw),
    setEncoding: () => {},
    resume: () => {},
    pause: () => {},
  })
  return {
    ...{ terminal, keyboard, modes },
    all: () => written,
    /** The last complete frame. */
    screen: () => written.split('\x1b[?2026h').at(-1)?.replace(SEQUENCES, '') ?? '',
    type: (text: string) => keys.emit('data', text),
    resize(columns: number, rows: number) {
      Object.assign(terminal, { columns, rows })
      output.emit('resize')
    },
  }
}

describe('watchNode', () => {
  it('shows the node, explains and blocks a peer, reconnects, and restores the terminal', async () => {
    const { url, calls, listeners, link } = await serve()
    const { terminal, keyboard, modes, all, screen, type, resize } = fakeTerminal()
    const node = createNodeClient({ url })
    onTestFinished(() => node.close())
    const modules = { node, terminal, keyboard, clock: systemClock, isColoured: true }
    const done = watchNode(modules, new AbortController().signal)
    expect(all()).toContain(ENTER)
    await expect.poll(screen).toMatch(/block +5 +6 +7 +2 +1/)
    await expect.poll(screen).toMatch(/> {2}…6Hyr2Er8 +4 .*agent\?\[31m/)
    // Over the WebSocket.
    for (const listener of listeners.notifications)
      listener({ event: 'ban', peerID: RECORD.peerID, reason: 'score', untilMs: 0 })
    await expect.poll(screen).toContain('…6Hyr2Er8 is banned for 0 s: score')

    resize(60, 20)
    expect(screen().split('\r\n')).toHaveLength(20)
    type('\r')
    await expect.poll(screen).toContain('score 4, main reason: false blocks')
    type('\x1b[')
    type('B')
    type('b')
    expect(screen()).toContain('Block …6Hyr2Er8, and close its connections?')
    type('n')
    expect(calls.filter(([what]) => what === 'block')).toEqual([])
    type('b')
    type('y')
    await expect.poll(screen).toContain('…6Hyr2Er8 is blocked, and its connections are closed')
    expect(calls.filter(([what]) => what === 'block')).toEqual([['block', RECORD.peerID, undefined]])

    link.cut()
    await expect.poll(screen).toMatch(/no answer +for \d+ s/)
    link.allow()
    await expect.poll(screen).toMatch(/derivation +up-to-date/)
    type('\x1b')
    await expect.poll(screen).toContain('the node answers again')
    // No control sequence of the peer reached the terminal.
    expect(all()).not.toContain('agent\x1b')
    type('q')
    await done
    expect(all().endsWith(`\x1b[?7h\x1b[?25h${LEAVE}`)).toBe(true)
    expect(modes).toEqual([true, false])
  })

  it('stops with the signal, even while the node does not answer', async () => {
    const { url, link } = await serve()
    const { terminal, keyboard, all, screen } = fakeTerminal()
    const node = createNodeClient({ url })
    onTestFinished(() => node.close())
    link.cut()
    const stopped = new AbortController()
    const done = watchNode({ node, terminal, keyboard, clock: systemClock, isColoured: false }, stopped.signal)
    await expect.poll(screen).toContain('the node does not answer')
    stopped.abort()
    await done
    expect(all().endsWith(LEAVE)).toBe(true)
  })
})

describe('devium watch', () => {
  it('names alternative commands if there is no terminal', async () => {
    await expect(promisify(execFile)(process.execPath, [SCRIPT, 'watch'])).rejects.toMatchObject({
      code: 1,
      stderr:
        'devium: watch requires a terminal. devium status, devium peers and devium explain print the same data once\n',
    })
  })

  // util-linux's `script` runs the command in a new terminal.
  const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') === true
  it.skipIf(!hasScript)('restores the terminal at q and at SIGTERM (skipped without util-linux)', async () => {
    const { url } = await serve()
    for (const end of ['q', 'SIGTERM'] as const) {
      // In the foreground, as in an interactive shell.
      const run = `sh -c 'echo "pid $$"; exec "$@"' sh '${process.execPath}' '${SCRIPT}' watch --rpc ${url}`
      const child = spawn('script', ['-qfec', `stty -g; ${run}; echo "code $?"; stty -g`, '/dev/null'])
      onTestFinished(() => void child.kill('SIGKILL'))
      let output = ''
      child.stdout.on('data', (chunk) => (output += chunk))
      const closed = once(child, 'close')
      await expect.poll(() => output).toContain('…6Hyr2Er8')
      if (end === 'q') child.stdin.write('q')
      else process.kill(Number(/pid (\d+)/.exec(output)?.[1]), end)
      await closed
      const lines = output.split('\n').map((line) => line.trim())
      const settings = lines.filter((line) => /^[0-9a-f:]{40,}$/.test(line))
      expect(settings).toHaveLength(2)
      expect(settings[0]).toBe(settings[1])
      expect(output).toContain(`${LEAVE}code 0`)
    }
  })
})
