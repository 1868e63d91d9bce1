// node-redis.
const { createClient, commandOptions } = require("redis");

function check(step, condition, seen) {
    if (!condition) throw new Error(`${step}: unexpected ${JSON.stringify(seen)}`);
    console.log(step);
}

async function converse() {
    const client = createClient({ socket: { path: process.env.WORKERD_SOCKET } });
    client.on("error", (error) => { throw error; });
    await client.connect();
    check("RESP 2: PING", (await client.ping()) === "PONG");
    const information = await client.sendCommand(["CLIENT", "INFO"]);
    check("CLIENT INFO", / lib-name=/.test(information), information);
    const fields = await client.clientInfo();
    check("clientInfo()", fields.id === (await client.clientId()), fields);

    const number = await client.sendCommand(["PERFORM", "images", "echo", "hello"]);
    check("PERFORM", Number.isInteger(number), number);
    const result = await client.sendCommand(["PERFORM", "images", "echo", "WAIT", "hello"]);
    check("PERFORM WAIT", result === "hello", result);
    const job = await client.sendCommand(["JOB", String(number)]);
    check("JOB", job[job.indexOf("state") + 1] === "done", job);
    check("JOBS", (await client.sendCommand(["JOBS", "images", "LIMIT", "1"])).length === 1);
    const binary = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const other = await client.sendCommand(["PERFORM", "images", "echo", binary]);
    const bytes = await client.sendCommand(
        ["RESULT", String(other), "WAIT"], commandOptions({ returnBuffers: true }));
    check("binary RESULT", binary.equals(bytes), bytes);

    const jobs = Array.from({ length: 100 }, (_, job) => String(job));
    const replies = await Promise.all(
        jobs.map((job) => client.sendCommand(["PERFORM", "images", "echo", "WAIT", job])));
    check("pipeline", replies.join() === jobs.join(), replies);

    let seen = "";
    try {
        await client.multi().addCommand(["PERFORM", "images", "echo", "never"]).exec();
    } catch (error) {
        seen = error.message;
    }
    check("refused transaction", seen.startsWith("EXECABORT"), seen);
    check("PING after it", (await client.ping()) === "PONG");
    await client.quit();
}

converse().catch((error) => {
    console.error(error.message);
    process.exit(1);
});
