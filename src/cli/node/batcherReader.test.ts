import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { TokenAccess } from '../../jsonRpc/bearerToken.ts'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../../jsonRpc/server.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { createBatcherReader } from './batcherReader.ts'

const TOKEN = 'a-token-of-some-length'
const STATUS = { why: 'all is well', ok: true }
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-token-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function fileWith(token: string, mode = 0o600): string {
  const path = join(folder, `${token}-${mode}`)
  writeFileSync(path, token)
  chmodSync(path, mode)
  return path
}

/** Starts the RPC server of a batch submitter. */
async function serve(access: TokenAccess | undefined, { hasAdmin = true } = {}): Promise<string> {
  const methods = new Map(hasAdmin ? [['admin_batcherStatus', () => STATUS]] : [])
  const dispatcher = createRpcDispatcher({ methods })
  const server = await serveApp(createRpcApp({ dispatcher, access }), '127.0.0.1', 0, 'test')
  onTestFinished(server.close)
  return server.url
}

/** Returns the status, or the text of the error. */
async function read(url: string, tokenFile?: string): Promise<unknown> {
  const reader = createBatcherReader({ url, tokenFile })
  onTestFinished(reader.close)
  return reader.read().catch(({ code, message, cause }: Error & { code: string }) => ({ code, message, cause }))
}

const unreadable = (...named: string[]) => errorWith('batcher-unreadable', ...named)

describe('the status of a batch submitter', () => {
  it('is read without a token if the submitter requires none', async () => {
    expect(await read(await serve(undefined))).toEqual(STATUS)
  })

  it('is read without a token if only changes require a token', async () => {
    expect(await read(await serve({ token: TOKEN, guardsReading: false }))).toEqual(STATUS)
  })

  it('is read with a token if reads require one; an error names the problem', async () => {
    const url = await serve({ token: TOKEN, guardsReading: true })
    expect(await read(url, fileWith(TOKEN))).toEqual(STATUS)
    expect(await read(url)).toEqual(unreadable(url, '--dashboard.batcher-token-file'))
    const found = await read(url, fileWith('another-token-of-some-length'))
    expect(found).toEqual(unreadable(url, '--dashboard.batcher-token-file'))
    expect(found).toHaveProperty('cause', undefined)
  })

  it('names the flag that the submitter lacks', async () => {
    const url = await serve(undefined, { hasAdmin: false })
    expect(await read(url)).toEqual(unreadable(url, '--rpc.enable-admin'))
  })

  it('reports that no program answers', async () => {
    const found = await read('http://127.0.0.1:1')
    expect(found).toEqual(unreadable('http://127.0.0.1:1'))
    expect(found).toMatchObject({ cause: { code: 'rpc-transport' } })
  })

  it('is not requested with a token file that other users can read', () => {
    const tokenFile = fileWith(TOKEN, 0o644)
    expect(() => createBatcherReader({ url: 'http://127.0.0.1:1', tokenFile })).toThrow(
      errorWith('usage', tokenFile, 'mode 644'),
    )
  })
})
