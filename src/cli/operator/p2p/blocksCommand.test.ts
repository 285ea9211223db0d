import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../../jsonRpc/httpServer.ts'
import { systemClock } from '../../../lib/clock.ts'
import { silentLogger } from '../../../lib/logger.ts'
import { createRollupRpc } from '../../../rpc/index.ts'
import { RECORD, recorder } from '../../../rpc/testUtils/recorder.ts'
import { runCommand } from '../../testUtils/runCommand.ts'
import { createDeviumCommand } from '../deviumCommand.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'blocks-'))
  file = join(folder, 'lists.json')
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

/** Runs the command against the RPC of a node that records its calls. */
async function blocks(...args: string[]) {
  const { node, p2p, calls } = recorder()
  const logger = { ...silentLogger, setLevel: () => {} }
  const { dispatcher } = createRollupRpc(
    { node, p2p, clock: systemClock, logger },
    { version: 'v1', enableAdmin: false },
  )
  const server = await serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test')
  onTestFinished(() => server.close())
  const done = await runCommand(createDeviumCommand, ['p2p', 'blocks', '--rpc', server.url, ...args])
  return { ...done, blocked: calls.filter(([name]) => String(name).startsWith('block')) }
}

describe('devium p2p blocks', () => {
  it('exports the lists to a file and imports them again', async () => {
    const written = await blocks('--export', file)
    expect(written).toMatchObject({ stdout: `3 entries written to ${file}\n` })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      blocks: [{ subject: RECORD.peerID, reason: 'sent old blocks', sinceMs: 1_000 }, {}, { sinceMs: null }],
    })
    const read = await blocks('--import', file, '--yes')
    expect(read.blocked).toEqual([
      ['block', RECORD.peerID, 'sent old blocks'],
      ['block', '10.1.0.0/16', ''],
      ['block', 'fd00::/8', ''],
    ])
  })

  it.each<[string, string]>([
    ['{"peers":[]}', 'is not a block list'],
    ['{"blocks":[{"subject":""}]}', 'is not a block list'],
    ['[', 'cannot read'],
  ])('blocks nothing from a file with %s', async (text, complaint) => {
    writeFileSync(file, text)
    const { stderr, blocked } = await blocks('--import', file, '--yes')
    expect(stderr).toContain(complaint)
    expect(blocked).toEqual([])
  })
})
