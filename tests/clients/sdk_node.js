// A program with two functions that burn CPU, profiled by @pyroscope/nodejs.
const Pyroscope = require('@pyroscope/nodejs');

const cpuSeconds = () => {
	const used = process.cpuUsage();
	return (used.user + used.system) / 1e6;
};

function light(seconds) {
	const end = cpuSeconds() + seconds;
	let sum = 0;
	while (cpuSeconds() < end)
		for (let i = 0; i < 100000; i++)
			sum += i % 7;
	return sum;
}

function heavy(seconds) {
	const end = cpuSeconds() + seconds;
	let sum = 0;
	while (cpuSeconds() < end)
		for (let i = 0; i < 100000; i++)
			sum += i % 5;
	return sum;
}

function measure(run, seconds) {
	const cpu = cpuSeconds();
	const wall = performance.now();
	run(seconds);
	return { cpu: cpuSeconds() - cpu, wall: (performance.now() - wall) / 1000 };
}

async function main() {
	Pyroscope.init({
		serverAddress: process.env.SERVER,
		appName: 'sdk-node',
		tags: { env: 'test' },
		wall: { collectCpuTime: true },
	});
	Pyroscope.start();
	const measured = { light: measure(light, 1), heavy: measure(heavy, 3) };
	await Pyroscope.stop();
	console.log(JSON.stringify(measured));
}

main();
