// A program with two functions that burn CPU, profiled by the Java agent, which is told what to do by the environment.
import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.DoubleConsumer;

public class Sdk {
	private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
	private static byte[] kept;
	private static volatile boolean wanted = true;
	private static int sum;

	private static double cpuSeconds() {
		return THREADS.getCurrentThreadCpuTime() / 1e9;
	}

	private static void spin() {
		for (int i = 0; i < 1000000; i++) {
			sum += i % 7;
		}
	}

	private static void light(double seconds) {
		for (double end = cpuSeconds() + seconds; cpuSeconds() < end; ) {
			spin();
		}
	}

	// Allocates again and again: an agent sees nothing between two of its intervals.
	private static void heavy(double seconds) {
		double allocated = 0;
		for (double end = cpuSeconds() + seconds; cpuSeconds() < end; ) {
			if (cpuSeconds() - allocated > 0.25) {
				allocated = cpuSeconds();
				kept = new byte[64 << 20];
			}
			spin();
		}
	}

	// The agent sends its intervals in their order: what is seen of this says that all before it has come.
	private static void last() {
		while (wanted) {
			spin();
		}
	}

	private static String measure(DoubleConsumer function, double seconds) {
		double cpu = cpuSeconds();
		long wall = System.nanoTime();
		function.accept(seconds);
		return String.format("{\"cpu\": %.9f, \"wall\": %.9f}", cpuSeconds() - cpu, (System.nanoTime() - wall) / 1e9);
	}

	public static void main(String[] arguments) throws Exception {
		String[] measured = new String[2];
		measured[0] = measure(Sdk::light, 1);
		Pyroscope.LabelsWrapper.run(new LabelsSet("handler", "heavy"), () -> measured[1] = measure(Sdk::heavy, 3));
		System.out.println("{\"light\": " + measured[0] + ", \"heavy\": " + measured[1] + "}");
		Thread waiting = new Thread(Sdk::last);
		waiting.start();
		System.in.read();
		wanted = false;
		waiting.join();
	}
}
