import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { readBody } from './requestBody.ts'

it('frees what has come of a long body when the client goes away before its end', async () => {
  const length = 16_000_000
  const bodies: unknown[] = []
  const server = createServer((request) => readBody(request, length, (body) => bodies.push(body)))
  const asked: Promise<IncomingMessage[]> = once(server, 'request')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const made = vi.spyOn(Buffer, 'allocUnsafeSlow')
  onTestFinished(() => made.mockRestore())
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write(`POST / HTTP/1.1\r\nhost: it\r\ncontent-length: ${length}\r\n\r\nthe beginning`)
  const [request] = await asked
  const rooms = made.mock.results.flatMap(({ value }) => (value instanceof Uint8Array ? [value] : []))
  expect(rooms.map((room) => room.length)).toEqual([length])
  client.destroy()
  await new Promise((resolve) => request?.once('close', resolve))
  expect(rooms.map((room) => room.length)).toEqual([0])
  expect(bodies).toEqual([])
  server.close()
  await once(server, 'close')
})
