import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RpcClient } from '../../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../../src/jsonRpc/testUtils/patientClient.ts'
import { type FakeServer, type RpcAnswer, startFakeBeacon, startFakeRpc } from './servers.ts'
import { type ProgramOptions, StoppedProgram } from './stoppedProgram.ts'

const JWT_SECRET = new Uint8Array(32).fill(7)

export interface RunningGeth {
  program: StoppedProgram
  engineUrl: string
  url: string
  engine: RpcClient
}

/** The resources of one run of the table. All are removed afterwards. */
export class World {
  private readonly opened = new AsyncDisposableStack()
  private readonly preload: string | undefined
  readonly directory = mkdtempSync(join(tmpdir(), 'devium-stopping-'))
  readonly jwtPath = this.file('jwt.txt', Buffer.from(JWT_SECRET).toString('hex'))

  /** `preload`: JavaScript that runs before each program. */
  constructor(preload?: string) {
    this.preload = preload
  }

  file(name: string, content: string): string {
    const path = join(this.directory, name)
    writeFileSync(path, content)
    return path
  }

  path(name: string): string {
    return join(this.directory, name)
  }

  json(name: string, content: unknown): string {
    return this.file(name, JSON.stringify(content))
  }

  start(program: string, args: readonly string[], options: ProgramOptions = {}): StoppedProgram {
    const started = new StoppedProgram(program, args, { preload: this.preload, ...options })
    this.opened.defer(() => started.kill())
    return started
  }

  async rpc(answer: RpcAnswer): Promise<FakeServer> {
    const server = await startFakeRpc(answer)
    this.opened.defer(() => server.close())
    return server
  }

  async beacon(...args: Parameters<typeof startFakeBeacon>): Promise<FakeServer> {
    const server = await startFakeBeacon(...args)
    this.opened.defer(() => server.close())
    return server
  }

  client(url: string, isEngine = false): RpcClient {
    const client = createPatientClient({ url, ...(isEngine ? { jwtSecret: JWT_SECRET } : {}) })
    this.opened.defer(() => client.close())
    return client
  }

  /** An execution client with this genesis, without a time limit for calls. */
  async geth(genesis: unknown, args: readonly string[] = []): Promise<RunningGeth> {
    const datadir = `--datadir=${this.path('geth')}`
    const init = this.start('devium-geth', ['init', datadir, this.json('genesis.json', genesis)])
    await init.prints(/Successfully wrote genesis/)
    await init.ended
    return this.openGeth(args)
  }

  /** Opens the same data directory again. */
  async openGeth(args: readonly string[] = []): Promise<RunningGeth> {
    const program = this.start('devium-geth', this.gethArgs(args))
    const line = await program.prints(/devium-geth started/)
    const [, url = ''] = /"http":"([^"]+)"/.exec(line) ?? []
    const [, engineUrl = ''] = /"engine":"([^"]+)"/.exec(line) ?? []
    return { program, url, engineUrl, engine: this.client(engineUrl, true) }
  }

  gethArgs(args: readonly string[] = []): string[] {
    return [
      `--datadir=${this.path('geth')}`,
      '--http',
      '--http.port=0',
      '--http.api=eth,net,web3,debug,txpool',
      '--authrpc.port=0',
      `--authrpc.jwtsecret=${this.jwtPath}`,
      '--rpc.evmtimeout=0',
      '--log.format=json',
      ...args,
    ]
  }

  async close(): Promise<void> {
    await this.opened.disposeAsync()
    rmSync(this.directory, { recursive: true, force: true })
  }
}
